"""Sparse rows, worked by hand and against SciPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy.sparse import random as draw_matrix

from seq2set.core.errors import MissingExtraError
from seq2set.core.sparse import SparseRows, as_scipy, find_rows, multiply, stack_rows
from seq2set.core.tensor_files import TensorRows, read_header

ROWS = SparseRows.from_sets([{2, 0}, (), [1]], 3)


def test_sets_become_rows() -> None:
    assert ROWS.toarray().tolist() == [[True, False, True], [False] * 3, [False, True, False]]
    assert (ROWS.shape, ROWS.nnz, find_rows(ROWS).tolist()) == ((3, 3), 3, [0, 0, 2])
    assert SparseRows.from_sets([], 2).toarray().shape == (0, 2)


@pytest.mark.parametrize("taken", [1, -1, slice(1, None), slice(5, 9), [2, 0, 2], np.array([], int)])
def test_rows_are_taken_as_from_an_array(taken: object) -> None:
    whole = ROWS.toarray()
    assert ROWS[taken].toarray().tolist() == np.atleast_2d(whole[taken]).tolist()


def test_matrices_are_put_below_each_other() -> None:
    assert stack_rows([ROWS, ROWS[:1]], 3).toarray().tolist() == [*ROWS.toarray().tolist(), [1, 0, 1]]
    assert stack_rows([], 3).toarray().shape == (0, 3)


def test_scipy_gets_the_same_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    given = as_scipy(ROWS)
    assert given.toarray().tolist() == ROWS.toarray().tolist()
    assert as_scipy(given) is given
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(MissingExtraError, match=r"package 'scipy': pip install 'seq2set\[train\]'"):
        ROWS.to_scipy()


def test_a_product_is_scipys_to_the_last_bit() -> None:
    given = draw_matrix(40, 300, 0.1, format="csr", dtype=np.float32, random_state=1)
    dense = np.random.default_rng(2).normal(size=(300, 17)).astype(np.float32)
    ours = SparseRows(given.data, given.indices, given.indptr, 300)
    assert np.array_equal(multiply(ours, dense), given @ dense)
    assert np.array_equal(multiply(given, dense), given @ dense)


@pytest.mark.parametrize("together", [1, 50, 8192])
def test_a_product_with_a_matrix_in_a_file_is_the_same(
    tmp_path: Path, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seq2set.core.sparse._CELLS", together)
    given = draw_matrix(40, 300, 0.1, format="csr", dtype=np.float32, random_state=1)
    dense = np.random.default_rng(2).normal(size=(300, 17)).astype(np.float32)
    save_file({"first": np.zeros(3, np.float32), "dense": dense}, tmp_path / "file")
    stored = TensorRows(tmp_path / "file", read_header(tmp_path / "file")["dense"])
    assert np.array_equal(multiply(given, stored), given @ dense)
    assert multiply(given[:0], stored).shape == (0, 17)
    assert multiply(SparseRows.from_sets([(), ()], 300), stored).tolist() == [[0] * 17] * 2
