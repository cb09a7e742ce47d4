"""F1 rewards of a batch's samples on tensors, against one scikit-learn call a document.

The authors' code calls scikit-learn once for each sampled set. The opponent here is quicker: with samples as
columns, one call gives the F1 of all samples of a document. `checks` has the other one too, and how far the
rewards lie apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.metrics import f1_score

from seq2set.benchmarks.ratio import Ratio, measure, seconds
from seq2set.objectives.rewards import f1

LIMIT = 500
"""How many times as fast as the opponent it must be."""

Sets = npt.NDArray[np.bool_]
Rewards = npt.NDArray[np.float64]


class _Batch(NamedTuple):
    predicted: Sets  # (B, K, L)
    actual: Sets  # (B, 1, L)


def run(
    documents: int = 64, *, samples: int = 4, labels: int = 103, batches: int = 20, rounds: int = 5
) -> Ratio:
    """Reward the sets of the same `batches` batches both ways."""
    random = np.random.default_rng(1)
    made = [_made(documents, samples, labels, random) for _ in range(batches)]
    tensors = [tuple(map(torch.from_numpy, batch)) for batch in made]
    found: dict[str, list[Rewards]] = {}
    result = measure(
        "reward",
        "one scikit-learn f1_score call a document",
        lambda: found.update(ours=[f1(*batch).numpy() for batch in tensors]),
        lambda: found.update(theirs=[a_document(*batch) for batch in made]),
        {"documents": documents, "samples": samples, "labels": labels, "batches": batches},
        rounds,
    )
    each = seconds(lambda: [a_sample(*batch) for batch in made])
    ours, theirs = np.stack(found["ours"]), np.stack(found["theirs"])
    checks = {
        "limit": LIMIT,
        "largest_difference": float(np.abs(ours - theirs).max()),
        "mean_reward": round(float(ours.mean()), 3),
        "ratio_to_one_call_a_sample": round(each / result.ours, 3),
    }
    return result._replace(checks=checks)


def _made(documents: int, samples: int, labels: int, random: np.random.Generator) -> _Batch:
    """Draw true sets, and samples that hold about half of them and some others: all rewards occur."""
    actual = random.random((documents, 1, labels)) < 3.24 / labels
    others = random.random((documents, samples, labels)) < 1.6 / labels
    return _Batch(others | (actual & (random.random(others.shape) < 0.5)), actual)


def a_document(predicted: Sets, actual: Sets) -> Rewards:
    """Return (documents, samples) with one call a document."""
    return np.stack(
        [
            f1_score(np.repeat(right, len(given), 0).T, given.T, average=None, zero_division=1.0)
            for given, right in zip(predicted, actual, strict=True)
        ]
    )


def a_sample(predicted: Sets, actual: Sets) -> Rewards:
    """Return (documents, samples) with one call a sample, as the authors' code does."""
    return np.array(
        [
            [f1_score(right[0], one, zero_division=1.0) for one in given]
            for given, right in zip(predicted, actual, strict=True)
        ]
    )
