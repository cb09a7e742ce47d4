"""Intervals of metrics by the bootstrap: documents, or groups of them, are drawn anew with replacement.

A metric of the catalog is any function of counts, so that no closed form gives the interval of all of them.
Documents of one group, such as one author's, are drawn together: they do not vary independently.

Shapes: U units (groups, or documents), L labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.core.sparse import find_rows
from seq2set.labels.indicator import Indicators, list_cells
from seq2set.labels.metrics import Counts, f1

RESAMPLES = 1_000
LEVEL = 0.95

_DRAWS = 100_000_000
"""Beyond so many documents and labels in all there are fewer resamples, down to a fifth."""


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
    units, labels = _DrawnUnits.of(predicted, actual, groups), list_cells(actual).columns
    drawn = [counts.metrics() for counts in _resample(units, labels, seed)]
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    return {
        name: Interval(*map(float, np.quantile([one[name] for one in drawn], tails))) for name in drawn[0]
    }


class _DrawnUnits(NamedTuple):
    """What is drawn: the cells of the label matrices and the counts of the documents, by unit."""

    size: int  # U
    cells: NDArray[np.int64]
    """Of given and right, given, and right labels one after the other: 0 to 3 L"""
    of_cell: NDArray[np.int64]
    """The unit of each cell"""
    documents: NDArray[np.float64]  # (U, 3): how many, exact ones, the sum of their F1

    @classmethod
    def of(cls, predicted: Indicators, actual: Indicators, groups: Sequence[Any] | None) -> _DrawnUnits:
        given, right = list_cells(predicted), list_cells(actual)
        rows, labels = (find_rows(given), find_rows(right)), given.columns
        both = np.isin(rows[0] * labels + given.indices, rows[1] * labels + right.indices)
        parts = [(rows[0][both], given.indices[both]), (rows[0], given.indices), (rows[1], right.indices)]
        sizes = [np.bincount(row, minlength=given.shape[0]) for row, _ in parts]
        exact = (sizes[0] == sizes[1]) & (sizes[0] == sizes[2])
        units = np.arange(len(exact)) if groups is None else np.unique(groups, return_inverse=True)[1]
        columns = (np.ones(len(exact)), exact, f1(*sizes))
        return cls(
            int(units.max()) + 1,
            np.concatenate([column + place * labels for place, (_, column) in enumerate(parts)]),
            units[np.concatenate([row for row, _ in parts])],
            np.stack([np.bincount(units, column) for column in columns], axis=1),
        )


def _resample(units: _DrawnUnits, labels: int, seed: int) -> Iterator[Counts]:
    generator = np.random.default_rng(seed)
    fewer = _DRAWS // max(units.size, len(units.cells), 1)
    for _ in range(max(RESAMPLES // 5, min(RESAMPLES, fewer))):
        times = np.bincount(generator.integers(units.size, size=units.size), minlength=units.size)  # (U,)
        sums = np.bincount(units.cells, times[units.of_cell], 3 * labels)
        both, given, right = sums.astype(np.int64).reshape(3, labels)
        documents, exact, example = times @ units.documents
        yield Counts(both, given - both, right - both, int(documents), int(exact), float(example))
