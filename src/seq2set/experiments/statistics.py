"""How sure a comparison is: intervals by resampling the test documents, and a paired test between two models.

Shapes: R resamples, S seeds, N documents. A document's counts say how many labels were given and right, how
many given, and how many right: (N, 3), or (S, N, 3) for the trainings of one model with several seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MEASURES = ("hamming_loss", "micro_precision", "micro_recall", "micro_f1")
"""The columns of the paper's tables."""

COVERAGE = 0.95
"""The share of resamples that lies in an interval."""

_AT_ONCE = 4_000_000
"""How many documents are drawn at a time, which bounds the memory."""

_EQUAL = 1e-12
"""Differences that are equal but for rounding count as equal."""


class Spread(NamedTuple):
    """A mean over seeds and its deviation, where there are several."""

    mean: float
    deviation: float | None


class Interval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


class Difference(NamedTuple):
    """How far one model lies above another, how sure that is, and the chance to see it between equals."""

    value: float
    interval: Interval
    chance: float


def spread(values: Sequence[float]) -> Spread:
    """Return the mean and the sample standard deviation."""
    several = len(values) > 1
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if several else None)


def measures(sums: Floats, decisions: float) -> dict[str, Floats]:
    """Turn summed counts (..., 3) into the paper's measures (...); `decisions` are documents times labels."""
    right, given, actual = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
    return {
        "hamming_loss": (given + actual - 2 * right) / decisions,
        "micro_precision": _ratio(right, given),
        "micro_recall": _ratio(right, actual),
        "micro_f1": _ratio(2 * right, given + actual),
    }


def bootstrap(
    counts: npt.NDArray[np.int64], labels: int, *, resamples: int, seed: int = 1
) -> dict[str, Interval]:
    """Return the interval of each measure's mean over seeds, documents being drawn with replacement.

    `counts` are (S, N, 3); all seeds see the same documents in a resample.
    """
    drawn = _drawn_measures(counts, labels, resamples, seed)
    return {name: _percentiles(values) for name, values in drawn.items()}


def compare(
    ours: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64], *, resamples: int, seed: int = 1
) -> Difference:
    """Compare the micro-F1 of two models on the same documents, (S, N, 3) and (S', N, 3).

    The interval is the paired bootstrap's. The chance is that of approximate randomisation, two-sided: how
    often a difference at least as large comes up when each document's answers are dealt to the two models at
    random; the seeds of a model are pooled for it, by the mean of their counts.
    """
    # The same seed draws the same documents for both, which is what pairs them.
    drawn = [_drawn_measures(one, 1, resamples, seed)["micro_f1"] for one in (ours, theirs)]
    values = [_f1(one.sum(axis=1)).mean() for one in (ours, theirs)]
    chance = randomisation(ours.mean(axis=0), theirs.mean(axis=0), resamples=resamples, seed=seed)
    return Difference(float(values[0] - values[1]), _percentiles(drawn[0] - drawn[1]), chance)


def randomisation(ours: Floats, theirs: Floats, *, resamples: int, seed: int = 1) -> float:
    """Return the chance of so large a difference in micro-F1 between models that are alike, (N, 3)."""
    draw = np.random.default_rng(seed)
    swing = theirs - ours  # (N, 3)
    wholes = ours.sum(axis=0), theirs.sum(axis=0)
    seen = abs(_f1(wholes[0]) - _f1(wholes[1])) - _EQUAL
    extreme = 0
    for size in _blocks(resamples, len(ours)):
        moved = draw.integers(0, 2, (size, len(ours))).astype(np.float64) @ swing  # (R, N) x (N, 3) -> (R, 3)
        extreme += int((abs(_f1(wholes[0] + moved) - _f1(wholes[1] - moved)) >= seen).sum())
    return (extreme + 1) / (resamples + 1)  # what was seen is one of the deals


def holm(chances: Sequence[float]) -> list[float]:
    """Adjust the chances of several tests so that one false alarm among all stays as rare as promised."""
    order = np.argsort(chances, kind="stable")
    raised = np.array(chances)[order] * np.arange(len(chances), 0, -1)
    adjusted = np.empty(len(chances))
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return [float(one) for one in adjusted]


def _drawn_measures(
    counts: npt.NDArray[np.int64], labels: int, resamples: int, seed: int
) -> dict[str, Floats]:
    """Draw documents with replacement, and return each measure's mean over seeds, (R,)."""
    draw = np.random.default_rng(seed)
    documents = counts.shape[1]
    flat = np.moveaxis(counts, 0, 1).reshape(documents, -1).astype(np.float64)  # (N, S x 3)
    sums = []
    for size in _blocks(resamples, documents):
        places = draw.integers(0, documents, (size, documents))  # (R, N)
        times = np.stack([np.bincount(row, minlength=documents) for row in places])
        sums.append(times.astype(np.float64) @ flat)  # (R, N) x (N, S x 3) -> (R, S x 3)
    found = measures(np.concatenate(sums).reshape(resamples, -1, 3), documents * labels)
    return {name: values.mean(axis=1) for name, values in found.items()}


def _blocks(resamples: int, documents: int) -> Iterator[int]:
    size = max(1, _AT_ONCE // documents)
    for start in range(0, resamples, size):
        yield min(size, resamples - start)


def _f1(sums: Floats) -> Floats:
    return measures(sums, 1.0)["micro_f1"]


def _percentiles(values: Floats) -> Interval:
    tail = 100 * (1 - COVERAGE) / 2
    low, high = np.percentile(values, [tail, 100 - tail])
    return Interval(float(low), float(high))


def _ratio(part: Floats, whole: Floats) -> Floats:
    ratio: Floats = np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)
    return ratio
