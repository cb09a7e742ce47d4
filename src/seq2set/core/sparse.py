"""Sparse rows in numpy alone: all that a model in use needs of a sparse matrix, without SciPy.

Training works on SciPy's matrices, which `to_scipy` gives. What reads rows takes either: the arrays of both
have the same names.

Letters: N rows, F columns, K columns of a dense matrix.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import import_extra
from seq2set.core.tensor_files import TensorRows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Array = npt.NDArray[Any]


class CompressedRows(Protocol):
    """What `SparseRows` and SciPy's `csr_matrix` have in common."""

    data: Array
    indices: Array
    indptr: Array

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""


@dataclass
class SparseRows:
    """A matrix of which only some cells are stored: those of row i at `indptr[i] : indptr[i + 1]`."""

    data: Array
    indices: Array
    """The cells' columns"""
    indptr: Array
    columns: int

    @classmethod
    def from_sets(cls, sets: Iterable[Iterable[int]], columns: int) -> SparseRows:
        """Return a row per set, true in the columns that the set names."""
        cells, ends = array("i"), array("q", [0])  # and no list of lists, which takes ten times the memory
        for one in sets:
            cells.extend(sorted(one))
            ends.append(len(cells))
        indices = np.frombuffer(cells, np.int32) if cells else np.zeros(0, np.int32)
        return cls(np.ones(len(indices), bool), indices, np.frombuffer(ends, np.int64), columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.indptr) - 1, self.columns

    @property
    def nnz(self) -> int:
        """How many cells are stored."""
        return len(self.data)

    def __getitem__(self, rows: Any) -> SparseRows:
        taken = np.atleast_1d(np.arange(self.shape[0])[rows])
        sizes = np.diff(self.indptr)[taken]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        cells = np.repeat(self.indptr[taken] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return SparseRows(self.data[cells], self.indices[cells], indptr, self.columns)

    def toarray(self) -> Array:
        """Return the matrix with all its cells."""
        whole = np.zeros(self.shape, self.data.dtype)
        whole[find_rows(self), self.indices] = self.data
        return whole

    def to_scipy(self) -> csr_matrix[Any]:
        """Return the matrix as SciPy's, which shares the arrays."""
        scipy = import_extra("scipy.sparse", "train")  # not installed where models are only used
        matrix: csr_matrix[Any] = scipy.csr_matrix((self.data, self.indices, self.indptr), shape=self.shape)
        return matrix


@dataclass
class StoredRows:
    """Sets of columns that may lie in files, as rows that are read by stretches."""

    sets: Sequence[Array]
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.sets), self.columns

    def __getitem__(self, rows: slice) -> SparseRows:
        return SparseRows.from_sets(self.sets[rows], self.columns)


def as_scipy(matrix: Any) -> csr_matrix[Any]:
    """Return rows of either kind as SciPy's."""
    found: csr_matrix[Any] = matrix.to_scipy() if isinstance(matrix, SparseRows) else matrix
    return found


def stack_rows(parts: Sequence[SparseRows], columns: int) -> SparseRows:
    """Stack matrices, one below the other."""
    starts = np.cumsum([0, *(part.nnz for part in parts)])
    ends = [part.indptr[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
    return SparseRows(
        np.concatenate([np.zeros(0, np.float32), *(part.data for part in parts)]),
        np.concatenate([np.zeros(0, np.int32), *(part.indices for part in parts)]),
        np.concatenate([np.zeros(1, np.int64), *ends]),
        columns,
    )


def find_rows(matrix: CompressedRows) -> npt.NDArray[np.int64]:
    """Return the row of each stored cell."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def multiply(rows: CompressedRows, dense: Array | TensorRows) -> Array:
    """Return rows (N, F) times a dense matrix (F, K), (N, K): what a row gives depends on nothing but it."""
    product = np.zeros((rows.shape[0], dense.shape[1]), dense.dtype)
    ends = rows.indptr.tolist()
    for block in _split_rows(ends):
        begin = ends[block.start]
        near, places = dense, rows.indices[begin : ends[block.stop]]
        if isinstance(dense, TensorRows):  # rows that lie in a file are read once each
            used, places = np.unique(places, return_inverse=True)
            near = dense[used]
        for number in block:
            start, end = ends[number], ends[number + 1]
            weighed = near[places[start - begin : end - begin]]
            weighed *= rows.data[start:end, None]
            product[number] = np.add.reduce(weighed)
    return product


_CELLS = 8192
"""How many cells of rows are multiplied together, which bounds the memory of what is read for them"""


def _split_rows(ends: Sequence[int]) -> Iterator[range]:
    """Yield stretches of rows that have about as many cells as are multiplied together."""
    first = 0
    for row in range(len(ends) - 1):
        if ends[row + 1] - ends[first] >= _CELLS or row == len(ends) - 2:
            yield range(first, row + 1)
            first = row + 1
