"""Texts that stand in two splits: word for word, whatever their case and white space, or nearly the same.

To find the latter, texts are compared as sets of shingles (three words in a row), and only where short
sketches of the sets share enough. Two sets whose Jaccard similarity is t or more share at least t times the
size of the larger one. So if each set is put in one order that is the same for all (here: by hash), the first
n - ceil(t n) + k elements of a set of n contain at least k elements that such a partner has among its own
first ones. These first elements are the sketch: whatever is similar enough is found by comparing sketches.
(Chaudhuri et al. 2006, "A primitive operator for similarity joins in data cleaning"; with k: Wang et al.
2012, "Can we beat the prefix filtering?")
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seq2set.corpora.checks import CheckedDocument, Finding, describe_found, format_share
from seq2set.corpora.documents import SPLITS
from seq2set.corpora.prepared import PreparedCorpus

TEST_SHARE = 0.01
"""Above this share of test documents that stand in train or valid, figures on test are wrong."""

HELD_OUT = {"test": ("train", "valid"), "valid": ("train",)}
"""Each split that is measured on, with the splits that its documents may not stand in."""


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
        for split, others in HELD_OUT.items():
            found = [f"{self.name_row(one)} = {self.name_row(other)}" for one, other in self.pairs(split)]
            total = len(self.rows(split))
            if found:
                share = format_share(len(found), total)
                yield describe_found(
                    f"duplicates-in-{split}",
                    f"{share} {split} texts stand word for word in {' or '.join(others)}",
                    found,
                    f"a model that has memorised them looks better on {split} than it is",
                    "remove them, or split again with the documents that belong together in one group",
                    level="error" if split == "test" and len(found) > TEST_SHARE * total else "warning",
                )

    def pairs(self, split: str) -> list[tuple[int, int]]:
        """Return the rows of a held-out split that repeat another row, each with the first one repeated."""
        rows, others, digests = self.rows(split), self.list_earlier(split), self.digests
        if not len(others):
            return []
        positions = np.searchsorted(digests[others], digests[rows])
        found = others[np.minimum(positions, len(others) - 1)]
        same = digests[found] == digests[rows]
        return list(zip(rows[same].tolist(), found[same].tolist(), strict=True))

    def rows(self, split: str) -> NDArray[np.int64]:
        """Return the rows of a split that have a text."""
        return np.flatnonzero(np.array(self._splits) == SPLITS.index(split))

    def list_earlier(self, split: str) -> NDArray[np.int64]:
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


WIDTH = 3
"""How many words make a shingle; a shorter text is one shingle."""

SHARED = 8
"""How many elements similar texts share in their sketches: more makes longer sketches, fewer false alarms."""

# Odd numbers with well-spread bits, so that the order of words counts.
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


def hash_shingles(words: list[str]) -> NDArray[np.uint64]:
    """Return the set of a text's shingles as ascending hashes.

    Python salts its string hashes anew in each process, so the numbers are good for one process only;
    what is found with them does not depend on the salt.
    """
    hashes = np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)
    width = min(WIDTH, len(words))
    count = len(words) - width + 1 if words else 0
    total = np.zeros(count, np.uint64)
    for i in range(width):
        total += hashes[i : i + count] * _FACTORS[i]
    return np.unique(total)


def compute_jaccard(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> float:
    """Return the size of the intersection over the size of the union of two sets."""
    both = len(np.intersect1d(first, second, assume_unique=True))
    union = len(first) + len(second) - both
    return both / union if union else 0.0


class Sketches:
    """The sketches of many texts, one after another."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._elements, self._ends = array("Q"), array("q", [0])
        self.sizes = array("q")
        """How many shingles each text has"""
        self.needed = array("q")
        """The k of each text: similar texts share as many elements as the larger k of the two, or more"""

    def add(self, words: list[str]) -> None:
        """Sketch one more text."""
        shingles = hash_shingles(words)
        size = len(shingles)
        # The subtraction keeps 0.56 x 25 = 14.000000000000002 from being rounded up to 15.
        least_shared = math.ceil(self.threshold * size - 1e-9)
        length = size - least_shared + min(least_shared, SHARED)
        self._elements.frombytes(shingles[:length].tobytes())
        self._ends.append(len(self._elements))
        self.sizes.append(size)
        self.needed.append(min(least_shared, SHARED))

    def matrix(self) -> sparse.csr_matrix[np.int32]:
        """Return the sketches as an indicator matrix, (texts, distinct elements)."""
        distinct, columns = np.unique(np.array(self._elements, np.uint64), return_inverse=True)
        ones, ends = np.ones(len(columns), np.int32), np.array(self._ends, np.int64)
        return sparse.csr_matrix((ones, columns, ends), shape=(len(self.sizes), len(distinct)))


MOST_CANDIDATES = 100
"""How many texts, those whose sketches share the most, are compared with one document."""

MOST_HOLDERS = 1000
"""In how many texts an element of a sketch is looked up: it bounds the work on texts of one pattern."""

_CHUNK = 256


def find_candidates(
    sketches: Sketches, rows: NDArray[np.int64], others: NDArray[np.int64]
) -> dict[int, list[int]]:
    """Name, for each of `rows`, those of `others` that may be similar enough, the likeliest first."""
    matrix, sizes, needed = sketches.matrix(), np.array(sketches.sizes), np.array(sketches.needed)
    holders = _cap_rows(matrix[others].T.tocsr())
    found: dict[int, list[int]] = {}
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        shared = (matrix[chunk] @ holders).tocoo()
        row, other = chunk[shared.row], others[shared.col]
        enough = shared.data >= np.maximum(needed[row], needed[other])
        smaller, larger = np.minimum(sizes[row], sizes[other]), np.maximum(sizes[row], sizes[other])
        kept = np.flatnonzero(enough & (smaller >= sketches.threshold * larger - 1e-9))
        order = kept[np.lexsort((other[kept], -shared.data[kept], row[kept]))]
        for i, j in zip(row[order].tolist(), other[order].tolist(), strict=True):
            found.setdefault(i, []).append(j)
    return {row: best[:MOST_CANDIDATES] for row, best in found.items()}


def _cap_rows(matrix: sparse.csr_matrix[np.int32]) -> sparse.csr_matrix[np.int32]:
    """Keep the first `MOST_HOLDERS` entries of each row."""
    counts = np.diff(matrix.indptr)
    kept = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], counts) < MOST_HOLDERS
    ends = np.concatenate(([0], np.cumsum(np.minimum(counts, MOST_HOLDERS))))
    return sparse.csr_matrix((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


class NearDuplicates:
    """Finds documents of test and valid that a model has nearly seen before."""

    def __init__(self, corpus: PreparedCorpus, exact: ExactDuplicates, threshold: float) -> None:
        self._corpus, self._exact, self._threshold = corpus, exact, threshold
        self._sketches = Sketches(threshold)

    def see(self, row: CheckedDocument) -> None:
        """Take in one document."""
        self._sketches.add(row.words)

    def findings(self) -> Iterator[Finding]:
        """Yield how many documents of test and of valid are nearly repeated."""
        found: dict[str, dict[int, list[int]]] = {}
        for split in HELD_OUT:
            repeated = [row for row, _ in self._exact.pairs(split)]
            rows = np.setdiff1d(self._exact.rows(split), repeated)
            others = np.sort(self._exact.list_earlier(split))
            found[split] = find_candidates(self._sketches, rows, others)
        wanted = {number for near in found.values() for row, some in near.items() for number in (row, *some)}
        shingles = {
            number: hash_shingles(document.text.casefold().split())
            for number, (_, document) in enumerate(self._corpus.iter_documents() if wanted else ())
            if number in wanted
        }
        for split, near in found.items():
            if matches := list(self._find_matches(near, shingles)):
                share = format_share(len(matches), len(self._exact.rows(split)))
                yield describe_found(
                    f"near-duplicates-in-{split}",
                    f"{share} {split} texts stand in {' or '.join(HELD_OUT[split])} with few changes "
                    f"(similarity {self._threshold:g} or more)",
                    matches,
                    f"a model that has memorised them looks better on {split} than it is",
                    "look at the examples; where they are one text, split again with such texts in one group",
                )

    def _find_matches(
        self, found: dict[int, list[int]], shingles: dict[int, NDArray[np.uint64]]
    ) -> Iterator[str]:
        """Name each row for which one is similar enough, and the most similar one, the first of equals."""
        name = self._exact.name_row
        for row, others in found.items():
            scored = [(compute_jaccard(shingles[row], shingles[other]), other) for other in sorted(others)]
            similarity, best = max(scored, key=lambda pair: pair[0])
            if similarity >= self._threshold - 1e-9:
                yield f"{name(row)} ~ {name(best)}, {similarity:.2f}"
