"""Iterative stratification: every label is shared out as the documents are.

The method of Sechidis, Tsoumakas and Vlahavas, "On the Stratification of Multi-Label Data" (2011):
the rarest label is dealt out first, each of its documents to the part that still wants the label
most. Within one label those choices depend on that label and on the sizes alone, so all documents
of a label are dealt at once here, with the same result as one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


def stratify(labels: csr_matrix[Any], sizes: Ints, generator: np.random.Generator) -> NDArray[np.int8]:
    """Share documents out to parts of exactly `sizes`, each label as nearly in proportion as can be."""
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
        parts[rows] = _dealt(len(rows), wanted[label], room, generator)
        taken = _label_counts(labels[rows], parts[rows], len(sizes))
        wanted -= taken
        left -= taken.sum(axis=1)
        room -= np.bincount(parts[rows], minlength=len(sizes))
    rest = generator.permutation(np.flatnonzero(parts < 0))
    parts[rest] = _dealt(len(rest), room, room, generator)
    room -= np.bincount(parts[rest], minlength=len(sizes))
    for part in range(1, len(sizes)):
        _even_out(parts, labels, wanted, part, round(room[part]), generator)
    return parts


def _dealt(count: int, wanted: Reals, room: Reals, generator: np.random.Generator) -> NDArray[np.int8]:
    """Deal `count` documents, each to the part that wants most; ties go to the one with more room."""
    parts = len(wanted)
    taken = np.tile(np.arange(count), parts)
    part = np.repeat(np.arange(parts, dtype=np.int8), count)
    first = np.lexsort((generator.random(count * parts), taken - room[part], taken - wanted[part]))
    return part[first[:count]]


def _label_counts(rows: csr_matrix[Any], parts: NDArray[np.int8], number: int) -> Ints:
    of_entry = np.repeat(parts, np.diff(rows.indptr)).astype(np.int64)
    counts = np.bincount(rows.indices * number + of_entry, minlength=rows.shape[1] * number)
    return counts.reshape(-1, number).astype(np.int64)


def _even_out(
    parts: NDArray[np.int8],
    labels: csr_matrix[Any],
    wanted: Reals,
    part: int,
    missing: int,
    generator: np.random.Generator,
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
