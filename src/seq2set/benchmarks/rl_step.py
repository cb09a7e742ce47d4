"""A full self-critical update, against an update by likelihood, of the same network on the same batch.

A self-critical update reads the documents, decodes them greedily for the baseline, samples, goes backward,
clips and applies Adam. The ratio is below 1 where it takes longer than likelihood; `checks.cost` is its
inverse, for both models. The ratio itself is that of the model whose self-critical update costs more. A
model's `baseline_share` is the share of its self-critical update that the greedy baseline takes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from seq2set.benchmarks.inputs import AAPD, Learner, Shape
from seq2set.benchmarks.ratio import Ratio, costliest, measure, seconds
from seq2set.training.examples import EncodedExamples, TrainingBatch

LIMIT = 1.6
"""What a self-critical update may cost, as a multiple of a likelihood update."""


def run(
    documents: int = 64,
    *,
    shape: Shape = AAPD,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 3,
) -> Ratio:
    """Update with one batch of `documents`, after `settling` updates that teach realistic set sizes."""
    return costliest(
        lambda learner, examples: _measured(learner, examples, rounds),
        LIMIT,
        documents=documents,
        shape=shape,
        settings=settings,
        settling=settling,
    )


def _measured(learner: Learner, examples: EncodedExamples, rounds: int) -> Ratio:
    batch = examples.batch(np.arange(len(examples)))
    result = measure(
        "rl-step",
        "the likelihood step",
        lambda: learner.update(batch, "self-critical"),
        lambda: learner.update(batch, "warm-start"),
        {},
        rounds,
    )
    share = round(_baseline_seconds(learner, batch, rounds) / result.ours, 3)
    return result._replace(shapes=learner.set_sizes(batch) | {"baseline_share": share})


@torch.no_grad()
def _baseline_seconds(learner: Learner, batch: TrainingBatch, rounds: int) -> float:
    """Time the greedy baseline alone: without dropout the documents are read a second time for it."""
    step = learner.step.train()
    policy = step.network(batch.ids, batch.lengths, batch.margins).final
    return min(seconds(lambda: step.test_time_greedy(policy, batch)) for _ in range(rounds))
