"""Texts that are nearly the same in two splits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.corpora.checks.candidates import candidates
from seq2set.corpora.checks.check import Row
from seq2set.corpora.checks.exact_duplicates import HELD_OUT, ExactDuplicates
from seq2set.corpora.checks.finding import MOST_EXAMPLES, Finding, share_of
from seq2set.corpora.checks.shingles import Sketches, jaccard, shingle_hashes
from seq2set.corpora.document import SPLITS
from seq2set.corpora.prepared import PreparedCorpus

BATCH = 4096
"""How many documents are read at a time."""


class Match(NamedTuple):
    """A document of a held-out split and the most similar one found, as rows of the corpus."""

    row: int
    other: int
    similarity: float


class NearDuplicates:
    """Finds documents of test and valid that a model has nearly seen before."""

    def __init__(self, corpus: PreparedCorpus, exact: ExactDuplicates, threshold: float) -> None:
        self._corpus, self._exact, self._threshold = corpus, exact, threshold
        self._sketches = Sketches(threshold)

    def see(self, row: Row) -> None:
        """Take in one document."""
        self._sketches.add(row.words)

    def findings(self) -> Iterator[Finding]:
        """Tell how many documents of test and of valid are nearly repeated."""
        found = {split: self._candidates(split) for split in HELD_OUT}
        shingles = self._shingles(
            {number for rows in found.values() for row, others in rows.items() for number in (row, *others)}
        )
        for split, rows in found.items():
            matches = list(self._matches(rows, shingles))
            if matches:
                yield self._finding(split, matches)

    def _candidates(self, split: str) -> dict[int, list[int]]:
        repeated = [pair.row for pair in self._exact.pairs(split)]
        rows = np.setdiff1d(self._exact.rows(split), repeated)
        return candidates(self._sketches, rows, np.sort(self._exact.earlier(split)))

    def _shingles(self, wanted: set[int]) -> dict[int, NDArray[np.uint64]]:
        """Read the wanted rows again and return all their shingles."""
        found: dict[int, NDArray[np.uint64]] = {}
        row = 0
        for split in SPLITS if wanted else ():
            for batch in self._corpus.split(split).iter_batches(BATCH):
                for number, document in enumerate(batch, row):
                    if number in wanted:
                        found[number] = shingle_hashes(document.text.casefold().split())
                row += len(batch)
        return found

    def _matches(
        self, found: dict[int, list[int]], shingles: dict[int, NDArray[np.uint64]]
    ) -> Iterator[Match]:
        for row, others in found.items():
            scored = [Match(row, other, jaccard(shingles[row], shingles[other])) for other in others]
            best = max(scored, key=lambda match: (match.similarity, -match.other))
            if best.similarity >= self._threshold - 1e-9:
                yield best

    def _finding(self, split: str, matches: list[Match]) -> Finding:
        total = len(self._exact.rows(split))
        return Finding(
            code=f"near-duplicates-in-{split}",
            level="warning",
            what=f"{share_of(len(matches), total)} {split} texts stand in {' or '.join(HELD_OUT[split])} "
            f"with few changes (similarity {self._threshold:g} or more)",
            count=len(matches),
            examples=tuple(map(self._example, matches[:MOST_EXAMPLES])),
            why=f"a model that has learnt them by heart looks better on {split} than it is",
            todo="look at the examples; where they are one text, split again with such texts in one group",
        )

    def _example(self, match: Match) -> str:
        pair = f"{self._exact.named(match.row)} ~ {self._exact.named(match.other)}"
        return f"{pair}, {match.similarity:.2f}"
