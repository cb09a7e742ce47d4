"""What the words that a decoder attends to add to a label: attention times the slope of what was read.

The label's logit, less the mean logit that the decoder expected, is a function of what was read, the context
c = sum a_t v_t. To first order a word of weight a_t and value v_t adds to it

    a_t (v_t - c) . g,  g = ((W_o[y] - sum_k p_k W_o[k]) (1 - tanh^2(..))) V          of eq. 5

which would be lost if the rest were read in its place. Attention alone says where a decoder looks, also
for marks and function words that change nothing; the slope says what it makes of it, and with which sign.
There is no backward pass, so that every runtime can do it.

Letters: R rows, T words, V numbers of a word's value, H hidden units, L labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seq2set.nn.decoding.prefixes import Ints, Reals


class OutputLayer(NamedTuple):
    """The weights of eq. 5."""

    readout: Reals
    """(H, H + V ..) W_d and V side by side; the words' part comes first in V"""
    scores: Reals
    """(L + 1, H) W_o"""


class StepReading(NamedTuple):
    """What a decoder had read when it gave a label."""

    features: Reals
    """(R, H + V ..) its state and its contexts"""
    attention: Reals
    """(R, T) the weights of the words"""
    values: Reals
    """(R, T, V) the words' values"""
    likely: Reals
    """(R, L + 1) the probabilities of the step"""


def find_contributions(step: StepReading, labels: Ints, layer: OutputLayer) -> Reals:
    """Return what each word adds to the labels (R,) of a step, (R, T); to `eos` and `pad` nothing."""
    mixed = np.tanh(step.features @ layer.readout.T)  # (R, H)
    eos = len(layer.scores) - 1
    towards = layer.scores[np.minimum(labels, eos)] - step.likely @ layer.scores  # (R, H)
    start = layer.readout.shape[0]
    words = slice(start, start + step.values.shape[-1])
    slopes = (towards * (1 - mixed**2)) @ layer.readout[:, words]  # (R, V)
    said = np.einsum("rtv,rv->rt", step.values, slopes)
    read = (step.features[:, words] * slopes).sum(1)[:, None]  # (R, 1)
    rest = np.where(step.attention < 1, read, 0)  # beside a word that is read alone there is nothing
    found: Reals = step.attention * (said - rest)
    found[labels >= eos] = 0
    return found
