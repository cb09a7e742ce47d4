"""Texts that stand word for word in two splits, whatever their case and white space."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.corpora.checks import MOST_EXAMPLES, CheckedDocument, Finding, format_share
from seq2set.corpora.documents import SPLITS

TEST_SHARE = 0.01
"""Above this share of test documents that stand in train or valid, figures on test are wrong."""

HELD_OUT = {"test": ("train", "valid"), "valid": ("train",)}
"""Each split that is measured on, with the splits that its documents may not stand in."""


class DuplicatePair(NamedTuple):
    """A document of a held-out split and the one that it repeats, as rows of the corpus."""

    row: int
    other: int


class ExactDuplicates:
    """Finds documents of test and valid whose text a model has seen before."""

    def __init__(self) -> None:
        self._digests, self._splits = array("Q"), array("b")
        self._ids: list[str] = []

    def see(self, row: CheckedDocument) -> None:
        """Take in one document."""
        # 64 bits: among a million texts, two unlike ones share a digest once in 40 million corpora.
        digest = hashlib.blake2b(" ".join(row.words).encode(), digest_size=8).digest()
        self._digests.frombytes(digest)
        self._splits.append(SPLITS.index(row.split) if row.words else -1)
        self._ids.append(row.document.id)

    def findings(self) -> Iterator[Finding]:
        """Yield how many documents of test and of valid are repeated."""
        for split in HELD_OUT:
            pairs = self.pairs(split)
            if pairs:
                yield self._describe(split, pairs)

    def pairs(self, split: str) -> list[DuplicatePair]:
        """Return the documents of a held-out split that repeat another, each with the first one repeated."""
        rows, others, digests = self.rows(split), self.earlier(split), self.digests
        if not len(others):
            return []
        positions = np.searchsorted(digests[others], digests[rows])
        found = others[np.minimum(positions, len(others) - 1)]
        same = digests[found] == digests[rows]
        return list(map(DuplicatePair, rows[same].tolist(), found[same].tolist()))

    def rows(self, split: str) -> NDArray[np.int64]:
        """Return the rows of a split that have a text."""
        return np.flatnonzero(np.array(self._splits) == SPLITS.index(split))

    def earlier(self, split: str) -> NDArray[np.int64]:
        """Return one row per text of the splits that a held-out split must not repeat, in digest order."""
        rows = np.concatenate([self.rows(name) for name in HELD_OUT[split]])
        return rows[np.unique(self.digests[rows], return_index=True)[1]]

    @property
    def digests(self) -> NDArray[np.uint64]:
        """A number per document that is the same where the texts are."""
        return np.array(self._digests, np.uint64)

    def name_row(self, row: int) -> str:
        """Name a document by its id and its split."""
        return f"{self._ids[row]} ({SPLITS[self._splits[row]]})"

    def _describe(self, split: str, pairs: list[DuplicatePair]) -> Finding:
        total = len(self.rows(split))
        many = split == "test" and len(pairs) > TEST_SHARE * total
        return Finding(
            code=f"duplicates-in-{split}",
            level="error" if many else "warning",
            what=f"{format_share(len(pairs), total)} {split} texts stand word for word in "
            + " or ".join(HELD_OUT[split]),
            count=len(pairs),
            examples=tuple(f"{self.name_row(a)} = {self.name_row(b)}" for a, b in pairs[:MOST_EXAMPLES]),
            why=f"a model that has learnt them by heart looks better on {split} than it is",
            todo="remove them, or split again with the documents that belong together in one group",
        )
