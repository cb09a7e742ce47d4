"""Label sets as indicator matrices: one row per document, one column per label, true where the set has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from seq2set.core.sparse import SparseRows, find_rows

if TYPE_CHECKING:
    from scipy import sparse

Indicators = Any
"""A (documents, labels) matrix of what is given: `SparseRows`, SciPy's, or anything that NumPy takes."""


def build_indicator(
    sets: Iterable[Iterable[int]], labels: int, dtype: DTypeLike = np.bool_
) -> sparse.csr_matrix[Any]:
    """Return sets of label numbers, each number once per set, as a (documents, labels) matrix."""
    rows = SparseRows.from_sets(sets, labels)
    return build_flat_indicator(rows.indices, rows.indptr, labels, dtype)


def build_flat_indicator(
    columns: NDArray[Any], ends: NDArray[Any], labels: int, dtype: DTypeLike = np.bool_
) -> sparse.csr_matrix[Any]:
    """Do the same for sets that lie end to end in `columns`: set i is `columns[ends[i] : ends[i + 1]]`."""
    return SparseRows(np.ones(len(columns), dtype), columns, ends, labels).to_scipy()


def as_indicator(matrix: Indicators) -> sparse.csr_matrix[np.bool_]:
    """Return a matrix, sparse or dense, as a sparse one that is true where it is not 0."""
    from scipy import sparse

    taken: Any = matrix if sparse.issparse(matrix) else np.asarray(matrix)
    plain: Any = sparse.csr_matrix(taken)
    indicator: sparse.csr_matrix[np.bool_] = sparse.csr_matrix(plain != 0)
    return indicator


def list_cells(matrix: Indicators) -> SparseRows:
    """Return the cells of a matrix, sparse or dense, that are not 0, as rows."""
    if hasattr(matrix, "tocsr"):
        matrix = matrix.tocsr()
    if not hasattr(matrix, "indptr"):
        dense = np.asarray(matrix)
        return SparseRows.from_sets((np.flatnonzero(row) for row in dense), dense.shape[1])
    given = matrix.data != 0
    codes = np.unique(find_rows(matrix)[given] * matrix.shape[1] + matrix.indices[given])
    rows, columns = np.divmod(codes, max(matrix.shape[1], 1))
    ends = np.cumsum(np.bincount(rows + 1, minlength=matrix.shape[0] + 1))
    return SparseRows(np.ones(len(codes), bool), columns, ends, matrix.shape[1])
