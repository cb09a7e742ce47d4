"""Label combinations as classes: which ones there are, and which documents belong to them.

The rarest can be pruned. A document of a pruned combination counts for the largest kept one that is a part of
it, as in "pruned sets" (Read, 2008); where no kept combination is, it is left out.

Shapes: N documents, L labels, K combinations that are kept, P that are pruned.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.labels.indicator import build_indicator

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Ints = npt.NDArray[np.int64]

ROWS_AT_A_TIME = 1024
"""Bounds the memory of comparing pruned combinations with kept ones."""


class Combinations(NamedTuple):
    """The combinations that became classes, and what became of the documents."""

    holds: csr_matrix  # (K, L) the labels of each, the most frequent combination first
    classes: Ints  # (N,) -1 where a document is left out
    pruned: int
    """How many combinations are no class."""
    cut: int
    """How many documents count for a part of their labels."""
    left_out: int
    """How many documents do not count at all."""

    def counts(self) -> dict[str, int]:
        """Return what was kept and what was pruned, as plain JSON."""
        return {
            "kept": self.holds.shape[0],
            "pruned": self.pruned,
            "documents_cut": self.cut,
            "documents_left_out": self.left_out,
        }


def find_combinations(targets: csr_matrix, *, most: int, least: int) -> Combinations:
    """Keep at most the `most` frequent label combinations of (N, L) with at least `least` documents."""
    sets = [tuple(row.tolist()) for row in np.split(targets.indices, targets.indptr[1:-1])]
    counts = Counter(sets)
    # Of equally frequent ones the smaller comes first: more of the others can be cut to it.
    ranked = sorted(counts, key=lambda one: (-counts[one], len(one), one))
    kept = [one for one in ranked[:most] if counts[one] >= least]
    pruned = ranked[len(kept) :]
    holds = build_indicator(kept, targets.shape[1], np.float32)
    numbers = {one: number for number, one in enumerate(kept)}
    numbers.update(zip(pruned, _find_largest_parts(pruned, holds).tolist(), strict=True))
    classes = np.array([numbers[one] for one in sets], np.int64)
    lost, beyond = int((classes < 0).sum()), sum(counts[one] for one in pruned)
    return Combinations(holds, classes, len(pruned), beyond - lost, lost)


def _find_largest_parts(pruned: list[tuple[int, ...]], holds: csr_matrix) -> Ints:
    """Return for each pruned combination the largest kept one that is a part of it (P,), or -1.

    Of equally large ones the most frequent is taken; no label at all is a part of everything,
    but says nothing.
    """
    sizes, kept = np.diff(holds.indptr).astype(np.int64), holds.shape[0]
    best = np.full(len(pruned), -1, np.int64)
    for start in range(0, len(pruned), ROWS_AT_A_TIME):
        block = build_indicator(pruned[start : start + ROWS_AT_A_TIME], holds.shape[1], np.float32)
        common = (block @ holds.T).tocoo()  # (P, L) x (L, K) -> (P, K) labels in common
        part = common.data == sizes[common.col]
        # Size and rank in one number, the larger the better.
        merit = sizes[common.col[part]] * kept + kept - 1 - common.col[part]
        np.maximum.at(best, start + common.row[part], merit)
    return np.where(best < 0, -1, kept - 1 - best % max(kept, 1))
