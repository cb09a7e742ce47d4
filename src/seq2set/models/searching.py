"""The searches by name, each giving scores for all labels and, where it has one, a sequence.

- `greedy`: the likeliest label at each step; a label's score is the probability of its step.
- `beam`: the likeliest of several sequences; a label's score is its share in all that were kept.
- `set-beam`: the same over sets, in which the orders of a set count together: all of them for sets of up to
  five labels, some drawn at random for larger ones.
- `marginal`: no one sequence, but each label's probability over many sampled sets, for a threshold to decide.

Letters: B texts, K hypotheses a text, S labels, L labels in all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seq2set.config.settings import SearchSettings
from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding import Hypotheses, beam_search, greedy, set_beam_search
from seq2set.nn.decoding.beam import WIDER
from seq2set.nn.decoding.marginals import marginals

Reals = npt.NDArray[np.float32]


class Found(NamedTuple):
    """What a search found for a batch of texts."""

    scores: Reals
    """(B, L) each in [0, 1]"""
    sequences: list[npt.NDArray[np.intp]] | None
    """Each text's labels in the order emitted; none where a threshold is to decide"""


def hypotheses(name: str, settings: SearchSettings) -> int:
    """Say how many hypotheses a search holds for each text."""
    held = {"greedy": 1, "marginal": settings.samples, "set-beam": WIDER * settings.width}
    return held.get(name, settings.width)


def search(name: str, policy: DecoderPolicy, settings: SearchSettings, most: int | None = None) -> Found:
    """Search the label sets of a batch of texts, sets of up to `most` labels."""
    if name == "marginal":
        sharp = policy.tempered(settings.temperature)
        return Found(marginals(sharp, settings.samples, max_steps=most).cpu().numpy(), None)
    if name == "greedy":
        return _greedy(policy, most)
    find = beam_search if name == "beam" else set_beam_search
    return _best(find(policy, width=settings.width, max_steps=most), policy.labels)


def _greedy(policy: DecoderPolicy, most: int | None) -> Found:
    rollout = greedy(policy, max_steps=most)
    steps = rollout.steps[:, : rollout.labels.shape[1]].exp()  # (B, S) without `eos`
    scores = torch.zeros(len(steps), policy.labels + 3, device=steps.device)
    scores = scores.scatter(1, rollout.labels, steps)[:, : policy.labels]
    return Found(scores.cpu().numpy(), _sequences(rollout.labels, rollout.lengths))


def _best(found: Hypotheses, labels: int) -> Found:
    weights = torch.softmax(found.set_log_prob, -1)  # (B, K)
    scores = (found.masks(labels) * weights[..., None]).sum(1)  # (B, L)
    return Found(scores.clamp(0, 1).cpu().numpy(), _sequences(found.labels[:, 0], found.lengths[:, 0]))


def _sequences(labels: Tensor, lengths: Tensor) -> list[npt.NDArray[np.intp]]:
    rows = labels.cpu().numpy().astype(np.intp)
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]
