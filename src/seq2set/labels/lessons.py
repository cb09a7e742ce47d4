"""What a teacher says of examples, for a student to learn from instead of their label sets.

A linear student learns how likely each label is. One that emits labels learns sets that were drawn at random
so that a label is in as many of them as it is likely; which labels go together is as the teacher has it.

Letters: N documents, L labels, K sets per document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from seq2set.core.sparse import SparseRows
from seq2set.labels.labels import Labels

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Reals = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

FAINT = 0.01
"""A label that is less likely than this counts as absent, and one as likely as 1 less this as present."""


@dataclass(frozen=True)
class Lessons:
    """What is taught of N examples."""

    names: tuple[str, ...]
    likely: SparseRows
    """How likely each label is (N, L), where it is not 0"""
    sets: tuple[SparseRows, ...]
    """K matrices (N, L): the k-th set of each document"""
    labelled: int
    """How many examples, the first ones, have labels that a person gave"""

    def pick(self, index: npt.NDArray[np.intp]) -> Lessons:
        """Return what is taught of the examples at the given places."""
        labelled = int((np.asarray(index) < self.labelled).sum())
        return Lessons(self.names, self.likely[index], tuple(one[index] for one in self.sets), labelled)

    def targets(self, labels: Labels) -> csr_matrix[Any]:
        """Return how likely each of a student's labels is, (N, L), in the order of its labels."""
        taken: csr_matrix[Any] = self.likely.to_scipy()[:, self._find_columns(labels)].tocsr()
        return taken

    def rows(self, labels: Labels) -> list[list[npt.NDArray[np.int64]]]:
        """Return the numbers of a student's labels in each document's K sets."""
        columns = self._find_columns(labels)
        taken = [one.to_scipy()[:, columns].sorted_indices() for one in self.sets]
        split = [np.split(one.indices.astype(np.int64), one.indptr[1:-1]) for one in taken]
        return [list(sets) for sets in zip(*split, strict=True)]

    def _find_columns(self, labels: Labels) -> list[int]:
        places = {name: place for place, name in enumerate(self.names)}
        return [places[name] for name in labels.names]

    def digest(self) -> str:
        """Return a text that differs where anything that is taught differs."""
        seen = hashlib.sha256(repr((self.names, self.labelled)).encode())
        for matrix in (self.likely, *self.sets):
            for part in (matrix.data, matrix.indices, matrix.indptr):
                seen.update(np.ascontiguousarray(part).tobytes())
        return seen.hexdigest()


def make_lessons(
    names: Sequence[str],
    likely: Reals,
    drawn: Bools,
    gold: Bools,
    share: float,
    generator: np.random.Generator,
) -> Lessons:
    """Mix what a teacher says of documents with the labels (n, L) that a person gave the first n of them.

    `likely` (N, L) is how likely each label is, `drawn` (N, K, L) are sets that the teacher drew. A labelled
    document's sets are its own with probability 1 - `share`, and how likely its labels are is mixed alike.
    """
    labelled = len(gold)
    likely = np.where(likely < FAINT, 0, np.where(likely > 1 - FAINT, 1, likely)).astype(np.float32)
    often = drawn.mean(axis=1, dtype=np.float32)  # (N, L)
    sets = []
    for number in range(drawn.shape[1]):
        one = _match_likelihoods(drawn[:, number], often, likely, generator)
        own = generator.random((labelled, 1)) >= share
        one[:labelled] = np.where(own, gold, one[:labelled])
        sets.append(_compress(one))
    likely[:labelled] = share * likely[:labelled] + (1 - share) * gold
    return Lessons(tuple(names), _compress(likely), tuple(sets), labelled)


def _match_likelihoods(drawn: Bools, often: Reals, likely: Reals, generator: np.random.Generator) -> Bools:
    """Take labels out of sets (N, L), or put some in, so that each occurs as often as it is likely.

    `often` (N, L) says how often a label is in a document's sets. What a decoder draws goes together as the
    decoder has it, but its frequencies are not calibrated. Sets of a teacher that draws none begin empty;
    their labels are drawn one by one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        stays = np.where(often > likely, likely / often, 1)
        comes = np.where(often < likely, (likely - often) / (1 - often), 0)
    chance = np.where(drawn, stays, comes)
    return np.asarray(generator.random(drawn.shape, np.float32) < chance)


def _compress(dense: npt.NDArray[Any]) -> SparseRows:
    rows, columns = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
    return SparseRows(dense[rows, columns], columns.astype(np.int32), indptr, dense.shape[1])
