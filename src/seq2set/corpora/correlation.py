"""How labels go together: the phi coefficient of their indicator columns.

Phi is Pearson's correlation of two columns of noughts and ones. With n documents of which a hold the
first label, b the second and c both, it is (n c - a b) / sqrt(a (n - a) b (n - b)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


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
        self._phi = phi_coefficients(self._together, indicators.shape[0])

    def strongest(self, top: int) -> tuple[LabelPair, ...]:
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


def phi_coefficients(together: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """Compute phi from co-occurrence counts; a label in all documents or none correlates with nothing (0)."""
    counts = np.diagonal(together).astype(np.float64)
    spread = counts * (documents - counts)
    # The root of the product, not the product of the roots: it is exact where two columns are equal.
    scale = np.sqrt(np.outer(spread, spread))
    numerator = documents * together.astype(np.float64) - np.outer(counts, counts)
    return np.clip(np.divide(numerator, scale, out=np.zeros_like(scale), where=scale > 0), -1.0, 1.0)
