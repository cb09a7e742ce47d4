"""Label sets as indicator matrices: one row per document, one column per label, true where the set has it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

Indicators = Any
"""A (documents, labels) matrix of what is given: SciPy sparse or anything that NumPy takes."""


def build_indicator(
    sets: Iterable[Iterable[int]], labels: int, dtype: DTypeLike = np.bool_
) -> sparse.csr_matrix[Any]:
    """Return sets of label numbers, each number once per set, as a (documents, labels) matrix."""
    rows = [list(one) for one in sets]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter(chain.from_iterable(rows), np.int32, int(ends[-1]))
    return build_flat_indicator(columns, ends, labels, dtype)


def build_flat_indicator(
    columns: NDArray[Any], ends: NDArray[Any], labels: int, dtype: DTypeLike = np.bool_
) -> sparse.csr_matrix[Any]:
    """Do the same for sets that lie end to end in `columns`: set i is `columns[ends[i] : ends[i + 1]]`."""
    cells = (np.ones(len(columns), dtype), columns, ends)
    return sparse.csr_matrix(cells, shape=(len(ends) - 1, labels))


def as_indicator(matrix: Indicators) -> sparse.csr_matrix[np.bool_]:
    """Return a matrix, sparse or dense, as a sparse one that is true where it is not 0."""
    taken: Any = matrix if sparse.issparse(matrix) else np.asarray(matrix)
    plain: Any = sparse.csr_matrix(taken)
    indicator: sparse.csr_matrix[np.bool_] = sparse.csr_matrix(plain != 0)
    return indicator
