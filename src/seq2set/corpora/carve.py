"""Validation documents out of a training split, the same ones for everybody who asks.

There is one way, so that a training, a study, an experiment and the estimator are scored on the same
documents of the same data. Each label is shared out as the documents are (`stratify`); groups stay whole, and
so do equal texts (`join_copies`); a label never leaves the documents to learn from, even if fewer are set
aside then; and the seed is the corpus's, not a training's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from seq2set.core.sparse import SparseRows
from seq2set.labels.indicator import build_flat_indicator

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SHARE = 0.1
"""The share of the training split that becomes validation where a corpus has none."""

SEED = 1
"""The seed where a corpus names none."""

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
Parts = NDArray[np.int8]


def carve_documents(
    label_sets: Sequence[Sequence[str]], share: float, seed: int, groups: ArrayLike | None = None
) -> Bools:
    """Return for each document whether it is set aside; none is where a label, or all, would be lost."""
    names: dict[str, int] = {}
    sets = ([names.setdefault(label, len(names)) for label in dict.fromkeys(one)] for one in label_sets)
    rows = SparseRows.from_sets(sets, 0)  # how many labels there are is known when all are read
    labels = build_flat_indicator(rows.indices, rows.indptr, len(names), np.int8)
    codes = None if groups is None else np.unique(np.array(groups), return_inverse=True)[1]
    return carve(labels, max(1, round(share * len(label_sets))), seed, codes)


def carve(labels: csr_matrix[Any], size: int, seed: int, groups: Ints | None = None) -> Bools:
    """Set `size` rows of `labels` (documents x labels) aside; with groups, about as many in whole groups."""
    from scipy.sparse import csr_matrix

    documents = labels.shape[0]
    if documents < 2 or size < 1:
        return np.zeros(documents, bool)
    generator = np.random.default_rng(seed)
    size = min(size, documents - 1)
    labels = csr_matrix(labels[:, _order_columns(labels)])
    if groups is None:
        aside = stratify(labels, np.array([documents - size, size], np.int64), generator) == 1
        units = _Units(labels, np.ones(documents, np.int64), aside)
        units.give_back_lost_labels()
        units.fill(size, generator)
        return units.aside
    # By first occurrence, as labels are: callers number groups in different ways.
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    _, of_document, counts = np.unique(first[codes], return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return np.zeros(documents, bool)
    members = csr_matrix((np.ones(documents, np.int64), (of_document, np.arange(documents))))
    units = _Units(csr_matrix(members @ labels), counts.astype(np.int64), np.zeros(len(counts), bool))
    units.take_by_label(size, generator)
    units.fill(size, generator)
    if not units.aside.any():
        units.take_smallest()
    return units.aside[of_document]


def _order_columns(labels: csr_matrix[Any]) -> list[int]:
    """Order the columns by the rows that they occur in, so that it does not matter how a caller numbers them.

    Columns of the very same rows are interchangeable.
    """
    by_label = labels.tocsc()
    by_label.sort_indices()
    rows = np.split(by_label.indices, by_label.indptr[1:-1])
    return sorted(range(labels.shape[1]), key=lambda column: rows[column].tolist())


class _Units:
    """What is set aside whole, documents or groups: how often each has each label, and how large it is."""

    def __init__(self, labels: csr_matrix[Any], sizes: Ints, aside: Bools):
        self.labels, self.sizes, self.aside = labels, sizes, aside
        self.totals = np.asarray(labels.sum(axis=0), np.int64).ravel()
        self.learn = self.totals - np.asarray(labels[aside].sum(axis=0), np.int64).ravel()

    def fill(self, size: int, generator: Generator) -> None:
        """Set more aside, in any order, while they fit and no label is lost."""
        room = size - int(self.sizes[self.aside].sum())
        for unit in generator.permutation(np.flatnonzero(~self.aside)) if room else ():
            if self.sizes[unit] <= room and self._spares(unit):
                self._take(unit)
                room -= int(self.sizes[unit])
            if not room:
                return

    def give_back_lost_labels(self) -> None:
        """Return one document of each label that only those set aside have."""
        by_label = self.labels.tocsc()
        for label in np.flatnonzero((self.learn == 0) & (self.totals > 0)):
            if self.learn[label] == 0:
                unit = by_label.indices[by_label.indptr[label]]
                columns, counts = self._row(unit)
                self.learn[columns] += counts
                self.aside[unit] = False

    def take_by_label(self, size: int, generator: Generator) -> None:
        """Share out the rarest label first, each to its proportion; what was passed over stays."""
        by_label = self.labels.tocsc()
        wanted = self.totals * (size / self.sizes.sum())
        room, seen = size, np.zeros(len(self.sizes), bool)
        for label in np.argsort(self.totals, kind="stable"):
            found = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
            for unit in generator.permutation(found[~seen[found]]):
                seen[unit] = True
                columns, counts = self._row(unit)
                nearer = counts[columns == label][0] < 2 * wanted[label]
                if nearer and self.sizes[unit] <= room and self._spares(unit):
                    self._take(unit)
                    wanted[columns] -= counts
                    room -= int(self.sizes[unit])

    def take_smallest(self) -> None:
        """Set one aside that is larger than asked for, where all are."""
        order = np.argsort(self.sizes, kind="stable")
        smallest = next((unit for unit in order if self._spares(unit)), None)
        if smallest is not None:
            self._take(smallest)

    def _row(self, unit: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        place = slice(self.labels.indptr[unit], self.labels.indptr[unit + 1])
        return self.labels.indices[place], self.labels.data[place]

    def _spares(self, unit: int) -> bool:
        columns, counts = self._row(unit)
        return bool((self.learn[columns] > counts).all())

    def _take(self, unit: int) -> None:
        columns, counts = self._row(unit)
        self.learn[columns] -= counts
        self.aside[unit] = True


def stratify(labels: csr_matrix[Any], sizes: Ints, generator: Generator) -> Parts:
    """Share documents out to parts of exactly `sizes`, each label as nearly in proportion as can be.

    Iterative stratification (Sechidis, Tsoumakas and Vlahavas, "On the Stratification of Multi-Label Data",
    2011): the rarest label is dealt first, each of its documents to the part that still wants the label most.
    Within one label those choices depend on that label and on the sizes alone, so all its documents are dealt
    at once, with the same result as one after the other.
    """
    documents = labels.shape[0]
    parts = np.full(documents, -1, dtype=np.int8)
    totals = np.asarray(labels.sum(axis=0), dtype=np.int64).ravel()
    wanted = totals[:, None] * (sizes / documents)[None, :]
    room = sizes.astype(np.float64)
    left = totals.copy()
    by_label = labels.tocsc()
    while left.any():
        label = int(np.where(left > 0, left, documents + 1).argmin())
        rows = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        rows = generator.permutation(rows[parts[rows] < 0])
        parts[rows] = _deal(len(rows), wanted[label], room, generator)
        taken = labels[rows].T @ np.eye(len(sizes), dtype=np.int64)[parts[rows]]  # (labels, parts)
        wanted -= taken
        left -= taken.sum(axis=1)
        room -= np.bincount(parts[rows], minlength=len(sizes))
    rest = generator.permutation(np.flatnonzero(parts < 0))
    parts[rest] = _deal(len(rest), room, room, generator)
    room -= np.bincount(parts[rest], minlength=len(sizes))
    for part in range(1, len(sizes)):
        _even_out(parts, labels, wanted, part, round(room[part]), generator)
    return parts


def _deal(count: int, wanted: Reals, room: Reals, generator: Generator) -> Parts:
    """Deal `count` documents, each to the part that wants most; ties go to the one with more room."""
    parts = len(wanted)
    taken = np.tile(np.arange(count), parts)
    part = np.repeat(np.arange(parts, dtype=np.int8), count)
    first = np.lexsort((generator.random(count * parts), taken - room[part], taken - wanted[part]))
    return part[first[:count]]


def _even_out(
    parts: Parts, labels: csr_matrix[Any], wanted: Reals, part: int, missing: int, generator: Generator
) -> None:
    """Move documents between `part` and the first part, those whose labels gain most, to meet its size."""
    giver, taker = (0, part) if missing > 0 else (part, 0)
    missing = abs(missing)
    while missing:
        # In several rounds, because what moved changes which labels are wanted.
        count = max(1, missing // 8)
        rows = generator.permutation(np.flatnonzero(parts == giver))
        gain = labels[rows] @ (wanted[:, taker] - wanted[:, giver])
        moved = rows[np.argsort(-gain, kind="stable")[:count]]
        counts = np.asarray(labels[moved].sum(axis=0)).ravel()
        wanted[:, giver] += counts
        wanted[:, taker] -= counts
        parts[moved] = taker
        missing -= count
