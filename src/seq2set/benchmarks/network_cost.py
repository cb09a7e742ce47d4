"""Greedy decoding of a split, against encoding it alone, at the paper's sizes for AAPD.

Our side is all of prediction: encoding, D1 where there is one, and the set decoder; the opponent is the
encoder's part of that. So the ratio is below 1, and `checks.cost` is its inverse, for both models: a cost of
1.2 means that the decoders take a fifth of the time of encoding. The ratio itself is that of the model whose
decoding costs more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from seq2set.benchmarks.inputs import AAPD, Learner, Shape
from seq2set.benchmarks.ratio import Ratio, costliest, measure
from seq2set.nn.decoding.searches import greedy
from seq2set.training.examples import EncodedExamples, TrainingBatch

BATCH = 128
"""Documents that are read together, of about the same length, as validation does."""

LIMIT = 1.5
"""What greedy decoding may cost, encoding included, as a multiple of encoding."""


def run(
    documents: int = 1_000,
    *,
    shape: Shape = AAPD,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 2,
) -> Ratio:
    """Decode a split of `documents`, after `settling` updates that teach realistic set sizes."""
    return costliest(
        lambda learner, examples: _measured(learner, examples, rounds),
        LIMIT,
        documents=documents,
        shape=shape,
        settings=settings,
        settling=settling,
    )


def _measured(learner: Learner, examples: EncodedExamples, rounds: int) -> Ratio:
    network, batches = learner.step.network.eval(), _batches(examples)
    found: list[Tensor] = []

    @torch.inference_mode()
    def ours() -> None:
        found[:] = [greedy(network(batch.ids, batch.lengths).final).lengths for batch in batches]

    @torch.inference_mode()
    def theirs() -> None:
        for batch in batches:
            network.encoder(batch.ids, batch.lengths)

    result = measure("decode", "encoding alone", ours, theirs, {}, rounds)
    lengths = torch.cat(found).float()
    sizes = {"greedy_labels": round(float(lengths.mean()), 2), "longest_set": int(lengths.max())}
    return result._replace(shapes=sizes)


def _batches(examples: EncodedExamples) -> list[TrainingBatch]:
    order = np.argsort(examples.lengths, kind="stable")
    return [examples.batch(order[start : start + BATCH]) for start in range(0, len(order), BATCH)]
