"""Intervals of metrics by the bootstrap: documents, or groups of them, are drawn anew with replacement.

A metric of the catalog is any function of counts, so that no closed form gives the interval of all of them.
Documents of one group, such as one author's, are drawn together: they do not vary independently.

Quantiles of resamples would not do: a resample drops some labels' only documents, whose F1 then counts 0, so
that nearly all macro averages lie below the figure. An interval reaches from the figure as far as t says, and
on the other side by as much further as resamples lie below: the documents, too, lack labels that others have.

Shapes: U units (groups, or documents), L labels.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.config.catalog import METRICS
from seq2set.core.flat_arrays import StoredLists
from seq2set.core.sparse import find_rows
from seq2set.labels.indicator import Indicators, list_cells
from seq2set.labels.metrics import Counts, f1
from seq2set.labels.reliability import compute_wilson_interval

RESAMPLES = 1_000
LEVEL = 0.95

_DRAWS = 100_000_000
"""Documents and labels in all beyond which there are fewer resamples, down to a fifth."""

DOCUMENTS_AT_A_TIME = 32_768
"""How many documents are drawn from together; the others wait in a file."""


class Interval(NamedTuple):
    """The bounds of a figure."""

    low: float
    high: float

    def half_width(self, value: float) -> float:
        """Return how far the farther bound is from a value."""
        return max(self.high - value, value - self.low)

    def list_bounds(self) -> list[float] | None:
        """Return both for JSON; None where nothing is known of them."""
        return list(self) if np.isfinite(self).all() else None


def compute_intervals(
    predicted: Indicators, actual: Indicators, groups: Iterable[Any] | None = None, seed: int = 1
) -> dict[str, Interval]:
    """Return the 95 % interval of every metric of the catalog, on two (documents, labels) matrices."""
    given, right = (one if hasattr(one, "shape") else np.asarray(one) for one in (predicted, actual))
    blocks = _list_units(given, right, None if groups is None else number_groups(groups))
    sizes = np.concatenate([block.documents[:, 0] for block in blocks])
    if len(sizes) < 2:
        return dict.fromkeys(METRICS, Interval(-np.inf, np.inf))  # one unit tells nothing of others
    # Units of unequal size tell as much as fewer of equal size.
    units = float(sizes.sum() ** 2 / (sizes**2).sum())
    resamples = _resample(blocks, right.shape[1], seed)
    own = next(resamples)  # the units themselves
    drawn = [counts.metrics() for counts in resamples]
    # A document of which nothing is right lacks its labels and has as many others, one at least: seldom all.
    labels = max(own.predicted_total, own.actual_total) / own.documents
    wrong = min(1.0, max(2 * labels, 1) / max(right.shape[1], 1))
    most = {name: wrong if row.better == "lower" else 1.0 for name, row in METRICS.items()}
    return {
        name: _bound(value, [one[name] for one in drawn], units, most[name])
        for name, value in own.metrics().items()
    }


def _bound(value: float, drawn: Sequence[float], units: float, most: float) -> Interval:
    """Return the interval of a figure from those of resamples; where nothing is right it is 0 or `most`."""
    pull, error = float(np.mean(drawn)) - value, float(np.std(drawn))
    if error < 1e-9:  # units that are all alike, but for rounding, tell by Wilson how rare others are
        missed = 1 - compute_wilson_interval(units, units)[0]
        return Interval(value - missed * value, max(value, min(1.0, value + missed * (most - value))))
    reach = error * find_reach(units)
    low, high = value - reach - max(pull, 0.0), value + reach - min(pull, 0.0)
    return Interval(max(low, min(0.0, *drawn)), min(high, max(1.0, *drawn)))


def find_reach(units: float) -> float:
    """Return how many deviations of resamples a 95 % interval reaches: t, as units vary more than these."""
    degrees = min(max(units - 1, 1.0), 10_000.0)
    # SciPy, which has t, is an extra. The tangent of an angle so distributed is t by the root of the degrees.
    angles = np.linspace(0, np.pi / 2, 100_001)
    share = np.cumsum(np.cos(angles) ** (degrees - 1))
    tangent = np.tan(np.interp(LEVEL * share[-1], share, angles))
    return float(tangent * np.sqrt(degrees * units / (units - 1)))


class _DrawnUnits(NamedTuple):
    """What is drawn: the cells of the label matrices and the counts of the documents, by unit."""

    size: int  # U
    cells: NDArray[np.int64]
    """Of given and right, given, and right labels one after the other: 0 to 3 L"""
    of_cell: NDArray[np.int64]
    """The unit of each cell"""
    documents: NDArray[np.float64]  # (U, 3): how many, exact ones, the sum of their F1

    @classmethod
    def of(cls, predicted: Indicators, actual: Indicators, groups: NDArray[Any] | None) -> _DrawnUnits:
        given, right = list_cells(predicted), list_cells(actual)
        rows, labels = (find_rows(given), find_rows(right)), given.columns
        both = np.isin(rows[0] * labels + given.indices, rows[1] * labels + right.indices)
        parts = [(rows[0][both], given.indices[both]), (rows[0], given.indices), (rows[1], right.indices)]
        sizes = [np.bincount(row, minlength=given.shape[0]) for row, _ in parts]
        exact = (sizes[0] == sizes[1]) & (sizes[0] == sizes[2])
        units = np.arange(len(exact)) if groups is None else groups
        columns = (np.ones(len(exact)), exact, f1(*sizes))
        return cls(
            int(units.max()) + 1,
            np.concatenate([column + place * labels for place, (_, column) in enumerate(parts)]),
            units[np.concatenate([row for row, _ in parts])],
            np.stack([np.bincount(units, column) for column in columns], axis=1),
        )


class _StoredUnits(Sequence[_DrawnUnits]):
    """Units in blocks that lie in a file: as many as there are take the memory of a few."""

    def __init__(self, blocks: Iterable[_DrawnUnits]):
        self._columns = StoredLists(kind="int64")
        for block in blocks:
            self._columns.extend([block.cells, block.of_cell, block.documents.view(np.int64).ravel()])

    def __len__(self) -> int:
        return len(self._columns) // 3

    def __getitem__(self, place: Any) -> Any:
        first = 3 * range(len(self))[place]
        cells, of_cell, documents = self._columns[first : first + 3]
        counts = documents.view(np.float64).reshape(-1, 3)
        return _DrawnUnits(len(counts), cells, of_cell, counts)


def _list_units(
    given: Indicators, right: Indicators, groups: NDArray[np.int64] | None
) -> Sequence[_DrawnUnits]:
    """Return all units in one block, or documents without groups in as many as they need."""
    documents = given.shape[0]
    if groups is not None or documents <= DOCUMENTS_AT_A_TIME:
        return [_DrawnUnits.of(given[:documents], right[:documents], groups)]
    starts = range(0, documents, DOCUMENTS_AT_A_TIME)
    blocks = (slice(start, start + DOCUMENTS_AT_A_TIME) for start in starts)
    return _StoredUnits(_DrawnUnits.of(given[block], right[block], None) for block in blocks)


def number_groups(groups: Iterable[Any]) -> NDArray[np.int64]:
    """Return the number of each document's group, in the order of their names."""
    first: dict[Any, int] = {}
    codes = np.array(array("q", (first.setdefault(group, len(first)) for group in groups)))
    rank = np.empty(len(first), np.int64)
    rank[[first[group] for group in sorted(first)]] = np.arange(len(first))
    return np.asarray(rank[codes])


def _resample(blocks: Sequence[_DrawnUnits], labels: int, seed: int) -> Iterator[Counts]:
    generator = np.random.default_rng(seed)
    sizes = np.array([block.size for block in blocks])
    units = int(sizes.sum())
    fewer = _DRAWS // max(units, sum(len(block.cells) for block in blocks), 1)
    for place in range(1 + max(RESAMPLES // 5, min(RESAMPLES, fewer))):
        # How many are drawn from each block, and then which: the same as drawing from all at once.
        shares = generator.multinomial(units, sizes / units) if len(sizes) > 1 else sizes
        sums, totals = np.zeros(3 * labels), np.zeros(3)
        for block, draws in zip(blocks, shares, strict=True):
            drawn = generator.integers(block.size, size=draws) if place else np.arange(block.size)
            times = np.bincount(drawn, minlength=block.size)
            sums += np.bincount(block.cells, times[block.of_cell], 3 * labels)
            totals += times @ block.documents
        both, given, right = sums.astype(np.int64).reshape(3, labels)
        documents, exact, example = totals
        yield Counts(both, given - both, right - both, int(documents), int(exact), float(example))
