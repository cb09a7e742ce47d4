"""Intervals of metrics by the bootstrap: documents, or groups of them, are drawn anew with replacement.

A metric of the catalog is any function of counts, so that no closed form gives the interval of all of them.
Documents of one group, such as one author's, are drawn together: they do not vary independently.

Shapes: N documents, U units (groups, or documents), L labels, B resamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seq2set.labels.indicator import Indicators, as_indicator, build_indicator
from seq2set.labels.metrics import Counts, f1

RESAMPLES = 1_000
LEVEL = 0.95

_DRAWS = 20_000_000
"""Beyond so many draws in all there are fewer resamples, down to a fifth: large splits need them least."""
_AT_ONCE = 50


class Interval(NamedTuple):
    """The bounds of a figure."""

    low: float
    high: float

    def half_width(self, value: float) -> float:
        """Return how far the farther bound is from a value."""
        return max(self.high - value, value - self.low)


def compute_intervals(
    predicted: Indicators, actual: Indicators, groups: Sequence[Any] | None = None, seed: int = 1
) -> dict[str, Interval]:
    """Return the 95 % interval of every metric of the catalog, on two (documents, labels) matrices."""
    drawn = [counts.metrics() for counts in _resample(_DrawnUnits.of(predicted, actual, groups), seed)]
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    return {
        name: Interval(*map(float, np.quantile([one[name] for one in drawn], tails))) for name in drawn[0]
    }


class _DrawnUnits(NamedTuple):
    """What is drawn: the counts of each unit."""

    labels: sparse.csr_matrix[Any]  # (U, 3 L): given and right, given, right
    documents: NDArray[np.float64]  # (U, 3): how many, exact ones, the sum of their F1

    @classmethod
    def of(cls, predicted: Indicators, actual: Indicators, groups: Sequence[Any] | None) -> _DrawnUnits:
        given, right = as_indicator(predicted), as_indicator(actual)
        both = sparse.csr_matrix(given.multiply(right))
        sizes = [np.diff(one.indptr) for one in (both, given, right)]
        exact = (sizes[0] == sizes[1]) & (sizes[0] == sizes[2])
        documents = np.stack([np.ones(len(exact)), exact, f1(*sizes)], axis=1)
        labels = sparse.hstack([both, given, right], format="csr", dtype=np.float64)
        if groups is None:
            return cls(labels, documents)
        _, places = np.unique(np.asarray(groups), return_inverse=True)
        members: Any = build_indicator(
            places[:, None].tolist(), int(places.max()) + 1, np.float64
        ).T  # (U, N)
        return cls(sparse.csr_matrix(members @ labels), members @ documents)


def _resample(units: _DrawnUnits, seed: int) -> Iterator[Counts]:
    generator, size = np.random.default_rng(seed), len(units.documents)
    left = max(RESAMPLES // 5, min(RESAMPLES, _DRAWS // size))
    while left > 0:
        drawn = [generator.integers(size, size=size) for _ in range(min(left, _AT_ONCE))]
        times = np.stack([np.bincount(one, minlength=size) for one in drawn]).astype(np.float64)  # (B, U)
        sums = np.asarray((units.labels.T @ times.T).T).reshape(len(times), 3, -1)  # (B, 3, L)
        for (both, given, right), (documents, exact, example) in zip(
            sums, times @ units.documents, strict=True
        ):
            yield Counts(both, given - both, right - both, int(documents), int(exact), float(example))
        left -= len(drawn)
