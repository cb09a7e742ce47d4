"""Which documents have which labels, collected one document at a time in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seq2set.corpora.documents import SPLITS
from seq2set.labels.indicator import build_flat_indicator

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class LabelTable:
    """An indicator matrix that grows by one row per document; splits follow one another."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._columns = array("i")
        self._ends = array("q", [0])
        self.sizes = dict.fromkeys(SPLITS, 0)
        """How many documents each split has."""

    def add(self, split: str, labels: Iterable[str]) -> None:
        """Add a document; the documents of one split must come together, in the order of `SPLITS`."""
        known = self._numbers
        # A label that stands twice in a document counts once.
        self._columns.extend(sorted({known.setdefault(label, len(known)) for label in labels}))
        self._ends.append(len(self._columns))
        self.sizes[split] += 1

    @property
    def names(self) -> list[str]:
        """The labels, one per column, in the order in which they were first seen."""
        return list(self._numbers)

    def rows(self, split: str) -> slice:
        """Return the rows that belong to a split."""
        start = sum(self.sizes[name] for name in SPLITS[: SPLITS.index(split)])
        return slice(start, start + self.sizes[split])

    def matrix(self) -> csr_matrix[np.int32]:
        """Return the indicator matrix, (documents, labels)."""
        columns, ends = np.array(self._columns, np.int32), np.array(self._ends, np.int64)
        return build_flat_indicator(columns, ends, len(self._numbers), np.int32)

    def frequencies(self, split: str | None = None) -> NDArray[np.int64]:
        """Count the documents of each label, in one split or in all."""
        rows = self.rows(split) if split else slice(0, len(self._ends) - 1)
        columns = np.array(self._columns[self._ends[rows.start] : self._ends[rows.stop]], np.int64)
        return np.bincount(columns, minlength=len(self._numbers)).astype(np.int64)

    def cardinalities(self) -> NDArray[np.int64]:
        """Count the labels of each document."""
        ends = np.array(self._ends, np.int64)
        return ends[1:] - ends[:-1]

    def label_sets(self) -> list[bytes]:
        """Return a key for each document that is equal where, and only where, the label sets are equal."""
        columns, ends = np.array(self._columns, np.int32), self._ends
        return [columns[start:end].tobytes() for start, end in pairwise(ends)]
