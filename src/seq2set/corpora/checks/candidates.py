"""Which texts are worth comparing: those whose sketches share enough elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seq2set.corpora.checks.shingles import Sketches

MOST_CANDIDATES = 100
"""How many texts, those whose sketches share the most, are compared with one document."""

MOST_HOLDERS = 1000
"""In how many texts an element of a sketch is looked up: it bounds the work on texts of one pattern."""

_CHUNK = 256


def candidates(
    sketches: Sketches, rows: NDArray[np.int64], others: NDArray[np.int64]
) -> dict[int, list[int]]:
    """Name, for each of `rows`, those of `others` that may be similar enough, the likeliest first."""
    matrix, sizes, needed = sketches.matrix(), sketches.sizes, sketches.needed
    holders = _capped(matrix[others].T.tocsr(), MOST_HOLDERS)
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


def _capped(matrix: sparse.csr_matrix[np.int32], most: int) -> sparse.csr_matrix[np.int32]:
    """Keep the first entries of each row only."""
    counts = np.diff(matrix.indptr)
    kept = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], counts) < most
    ends = np.concatenate(([0], np.cumsum(np.minimum(counts, most))))
    return sparse.csr_matrix((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)
