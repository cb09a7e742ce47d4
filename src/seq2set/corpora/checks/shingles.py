"""Texts as sets of shingles (three words in a row), and short sketches of those sets.

Two sets whose Jaccard similarity is t or more share at least t times the size of the larger one. So if each
set is put in one order that is the same for all (here: by hash), the first n - ceil(t n) + k elements of a
set of n contain at least k elements that such a partner has among its own first ones. These first
elements are the sketch: whatever is similar enough is found by comparing sketches alone.
(Chaudhuri et al. 2006, "A primitive operator for similarity joins in data cleaning"; with k: Wang et al.
2012, "Can we beat the prefix filtering?")
"""

from __future__ import annotations

import math
from array import array

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

WIDTH = 3
"""How many words make a shingle; a shorter text is one shingle."""

SHARED = 8
"""How many elements similar texts share in their sketches: more makes longer sketches, fewer false alarms."""

# Odd numbers with well-spread bits, so that the order of words counts.
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


def shingle_hashes(words: list[str]) -> NDArray[np.uint64]:
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


def jaccard(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> float:
    """Return the size of the intersection over the size of the union of two sets."""
    both = len(np.intersect1d(first, second, assume_unique=True))
    union = len(first) + len(second) - both
    return both / union if union else 0.0


class Sketches:
    """The sketches of many texts, one after another."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._elements, self._ends = array("Q"), array("q", [0])
        self._sizes, self._needed = array("q"), array("q")

    def add(self, words: list[str]) -> None:
        """Sketch one more text."""
        shingles = shingle_hashes(words)
        size = len(shingles)
        # The subtraction keeps 0.56 x 25 = 14.000000000000002 from being rounded up to 15.
        least_shared = math.ceil(self.threshold * size - 1e-9)
        length = size - least_shared + min(least_shared, SHARED)
        self._elements.frombytes(shingles[:length].tobytes())
        self._ends.append(len(self._elements))
        self._sizes.append(size)
        self._needed.append(min(least_shared, SHARED))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many shingles each text has."""
        return np.array(self._sizes, np.int64)

    @property
    def needed(self) -> NDArray[np.int64]:
        """The k of each text: similar texts share as many elements as the larger k of the two, or more."""
        return np.array(self._needed, np.int64)

    def matrix(self) -> sparse.csr_matrix[np.int32]:
        """Return the sketches as an indicator matrix, (texts, distinct elements)."""
        distinct, columns = np.unique(np.array(self._elements, np.uint64), return_inverse=True)
        ones, ends = np.ones(len(columns), np.int32), np.array(self._ends, np.int64)
        return sparse.csr_matrix((ones, columns, ends), shape=(len(self._sizes), len(distinct)))
