"""Intervals of metrics by the bootstrap: documents, or groups of them, are drawn anew with replacement.

A metric of the catalog is any function of counts, so that no closed form gives the interval of all of them.
Documents of one group, such as one author's, are drawn together: they do not vary independently.

An interval reaches as far to both sides of the figure as t says, by the deviation of the resamples. Their
quantiles would not do: a resample drops some labels' only documents, whose F1 then counts 0, so that macro
averages of nearly all resamples lie below the figure itself. The documents measured on lack labels in the
same way, so that the interval reaches further on the other side, by as much as the resamples lie below.

Shapes: U units (groups, or documents), L labels.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
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

_SAME = 1e-9
"""What is smaller is a matter of rounding."""

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


UNKNOWN = Interval(-np.inf, np.inf)
"""Of a figure on one unit, which tells nothing of others."""


def compute_intervals(
    predicted: Indicators, actual: Indicators, groups: Iterable[Any] | None = None, seed: int = 1
) -> dict[str, Interval]:
    """Return the 95 % interval of every metric of the catalog, on two (documents, labels) matrices."""
    given, right = (one if hasattr(one, "shape") else np.asarray(one) for one in (predicted, actual))
    blocks = _list_units(given, right, None if groups is None else number_groups(groups))
    sizes = np.concatenate([block.documents[:, 0] for block in blocks])
    if len(sizes) < 2:
        return dict.fromkeys(METRICS, UNKNOWN)
    # Units of unequal size tell as much as fewer of equal size.
    units = float(sizes.sum() ** 2 / (sizes**2).sum())
    own = _count_drawn(blocks, (np.ones(block.size) for block in blocks), right.shape[1])
    drawn = [counts.metrics() for counts in _resample(blocks, right.shape[1], seed)]
    # Where nothing is right all given and all true labels are wrong decisions, seldom all labels there are.
    cells = own.documents * right.shape[1]
    worst = {"hamming_loss": min(1.0, (own.predicted_total + own.actual_total) / cells)}
    return {
        name: _bound(value, np.array([one[name] for one in drawn]), units, worst.get(name, 1.0))
        for name, value in own.metrics().items()
    }


def _bound(value: float, drawn: NDArray[np.float64], units: float, most: float) -> Interval:
    """Return the interval of a figure from those of resamples; it lies between 0 and `most`."""
    pull, error = float(drawn.mean()) - value, float(drawn.std())
    if error < _SAME:
        # Units that are all alike say no more than how rare others are: in Wilson's bound, not their figure.
        missed = 1 - compute_wilson_interval(units, units)[0]
        return Interval(value - missed * value, value + missed * (most - value))
    reach = compute_reach(error, units)
    return Interval(max(0.0, value - reach - max(pull, 0.0)), min(1.0, value + reach - min(pull, 0.0)))


def compute_reach(error: float, units: float) -> float:
    """Return how far the 95 % interval reaches, from the deviation of resamples of so many units."""
    if units <= 1:
        return np.inf
    # Resamples of few units vary less than samples do, and how far the units vary is hardly known.
    return error * float(np.sqrt(units / (units - 1))) * find_t_quantile(max(1.0, units - 1))


@cache
def find_t_quantile(degrees: float) -> float:
    """Return what t is 95 % sure not to exceed either way; SciPy, which has it, is not there to predict."""
    angles = np.linspace(0, np.pi / 2, 100_001)
    degrees = min(degrees, 100_000.0)  # from there on t is normal
    density = np.cos(angles) ** (degrees - 1)  # of the angle whose tangent is t by the root of the degrees
    share = np.cumsum(density) - (density + density[0]) / 2
    return float(np.sqrt(degrees) * np.tan(np.interp(LEVEL * share[-1], share, angles)))


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
    for _ in range(max(RESAMPLES // 5, min(RESAMPLES, fewer))):
        # How many are drawn from each block, and then which: the same as drawing from all at once.
        shares = generator.multinomial(units, sizes / units) if len(sizes) > 1 else sizes
        drawn = (
            np.bincount(generator.integers(size, size=draws), minlength=size)
            for size, draws in zip(sizes, shares, strict=True)
        )
        yield _count_drawn(blocks, drawn, labels)


def _count_drawn(
    blocks: Sequence[_DrawnUnits], times: Iterable[NDArray[Any]], labels: int
) -> Counts:
    """Count units as often as each was drawn, (U,) for each block."""
    sums, totals = np.zeros(3 * labels), np.zeros(3)
    for block, often in zip(blocks, times, strict=True):
        sums += np.bincount(block.cells, often[block.of_cell], 3 * labels)
        totals += often @ block.documents
    both, given, right = sums.astype(np.int64).reshape(3, labels)
    documents, exact, example = totals
    return Counts(both, given - both, right - both, int(documents), int(exact), float(example))
