"""How labels go together: the phi coefficient of their indicator columns, and the labels above a threshold.

Phi is Pearson's correlation of two columns of noughts and ones. With n documents of which a hold the
first label, b the second and c both, it is (n c - a b) / sqrt(a (n - a) b (n - b)).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from seq2set.labels.labels import Labels


class LabelPair(NamedTuple):
    """Two labels, how strongly they go together, and in how many documents they do."""

    first: str
    second: str
    phi: float
    together: int
    first_documents: int
    second_documents: int


class CorrelationMap(NamedTuple):
    """The phi coefficients between all of `labels`, row by row."""

    labels: tuple[str, ...]
    phi: tuple[tuple[float, ...], ...]


class Correlations:
    """The correlations between the columns of an indicator matrix of a few thousand labels at most."""

    def __init__(self, indicators: sparse.csr_matrix[np.int32], names: Sequence[str]):
        self._names = tuple(names)
        together = sparse.csr_matrix(indicators.T @ indicators)
        self._together: NDArray[np.int64] = together.toarray().astype(np.int64)
        self._phi = compute_phi(self._together, indicators.shape[0])

    def find_strongest(self, top: int) -> tuple[LabelPair, ...]:
        """Return the pairs with the greatest phi, whichever its sign; more frequent pairs first in a tie."""
        first, second = np.triu_indices(len(self._names), k=1)
        # Equal fractions may differ in the last bit, and would then not be seen as a tie.
        strength = np.abs(self._phi[first, second]).round(12)
        order = np.lexsort((second, first, -self._together[first, second], -strength))[:top]
        return tuple(self._pair(int(first[i]), int(second[i])) for i in order if strength[i] > 0)

    def map(self, size: int) -> CorrelationMap:
        """Return the correlations between the first `size` labels, each with each."""
        rows = self._phi[:size, :size].round(4).tolist()
        return CorrelationMap(self._names[:size], tuple(tuple(row) for row in rows))

    def _pair(self, i: int, j: int) -> LabelPair:
        together = self._together
        counts = int(together[i, j]), int(together[i, i]), int(together[j, j])
        return LabelPair(self._names[i], self._names[j], float(self._phi[i, j]), *counts)


def compute_phi(together: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """Compute phi from co-occurrence counts; a label in all documents or none correlates with nothing (0)."""
    counts = np.diagonal(together).astype(np.float64)
    spread = counts * (documents - counts)
    # The root of the product, not the product of the roots: it is exact where two columns are equal.
    scale = np.sqrt(np.outer(spread, spread))
    numerator = documents * together.astype(np.float64) - np.outer(counts, counts)
    return np.clip(np.divide(numerator, scale, out=np.zeros_like(scale), where=scale > 0), -1.0, 1.0)


THRESHOLD = 0.28
"""From this correlation on labels go together: the paper's limit for labels that do not."""


class CorrelatedLabels:
    """The labels of a corpus, and which of them go together."""

    def __init__(self, label_sets: Sequence[Iterable[str]], threshold: float = THRESHOLD):
        self.labels = Labels.build(label_sets)
        matrix = self.labels.indicator(label_sets).astype(np.int64)
        phi = compute_phi(csr_matrix(matrix.T @ matrix).toarray(), len(label_sets))
        np.fill_diagonal(phi, -1.0)
        self._together = phi >= threshold

    def pairs(self) -> list[tuple[str, str]]:
        """Return every two labels that go together, the more frequent one first."""
        found = np.argwhere(np.triu(self._together))
        return [(self.labels.names[one], self.labels.names[other]) for one, other in found]

    def groups(self, labels: Iterable[str]) -> dict[str, str]:
        """Give the same letter to labels that go together, directly or through others of those named.

        A label that goes with no other has none. Letters follow the order in which the labels are named.
        """
        known = {name: number for name in labels if (number := self.labels.index(name)) is not None}
        if not known:
            return {}
        places = np.array(list(known.values()))
        _, parts = connected_components(self._together[np.ix_(places, places)], directed=False)
        sizes = np.bincount(parts, minlength=1)
        large = [part for part in dict.fromkeys(parts.tolist()) if sizes[part] > 1]
        letters = {part: ascii_uppercase[place % 26] for place, part in enumerate(large)}
        return {
            name: letters[part] for name, part in zip(known, parts.tolist(), strict=True) if part in letters
        }
