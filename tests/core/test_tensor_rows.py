"""Rows of a matrix in a file are read when they are looked at, and no other memory is taken."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from seq2set.core.errors import WorkError
from seq2set.core.tensor_files import TensorRows, copy_tensors, read_header

pytestmark = pytest.mark.skipif(not hasattr(os, "pread"), reason="the system cannot read at a place")

MATRIX = np.arange(60, dtype=np.float32).reshape(20, 3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save_file({"before": np.ones(5, np.float32), "matrix": MATRIX, "none": MATRIX[:0]}, tmp_path / "file")
    return tmp_path / "file"


def open_rows(file: Path, name: str = "matrix") -> TensorRows:
    return TensorRows(file, read_header(file)[name])


@pytest.mark.parametrize("rows", [[], [0], [19], [3, 4, 5], [5, 4, 4, 7, 8], [0, 19, 0], list(range(20))])
@pytest.mark.parametrize("together", [1, 24, 1 << 20])
def test_rows_are_those_of_the_matrix(
    file: Path, rows: list[int], together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seq2set.core.tensor_files._BLOCK", together)
    stored = open_rows(file)
    for kind in (np.int32, np.int64):
        assert stored[np.array(rows, kind)].tolist() == MATRIX[rows].tolist()
    assert (stored.shape, stored.dtype) == (MATRIX.shape, MATRIX.dtype)


def test_all_else_is_taken_of_the_whole_matrix(file: Path) -> None:
    stored = open_rows(file)
    assert (stored[:, 1] == MATRIX[:, 1]).all()
    assert (stored[2:4] == MATRIX[2:4]).all()
    assert (np.ascontiguousarray(stored) == MATRIX).all()
    assert np.asarray(stored, np.float64).dtype == np.float64
    assert np.asarray(open_rows(file, "none")).shape == (0, 3)


def test_a_copy_is_an_array(file: Path) -> None:
    stored = open_rows(file)
    for made in (copy.deepcopy(stored), pickle.loads(pickle.dumps(stored))):
        assert type(made) is np.ndarray
        assert (made == MATRIX).all()


@pytest.mark.parametrize("rows", [[-1], [20], [0, 5, 20]])
def test_rows_that_do_not_exist_are_refused(file: Path, rows: list[int]) -> None:
    with pytest.raises(IndexError, match="a row of 20 is wanted that does not exist"):
        open_rows(file)[np.array(rows)]


def test_a_file_that_is_cut_off_meanwhile_is_named(file: Path) -> None:
    stored = open_rows(file)
    os.truncate(file, file.stat().st_size - 100)
    assert stored[np.array([0])].tolist() == MATRIX[:1].tolist()
    with pytest.raises(WorkError, match=r"file was cut off while it was in use"):
        stored[np.array([19])]


def test_tensors_are_copied(file: Path) -> None:
    found = copy_tensors(file, read_header(file))
    assert {name: one.tolist() for name, one in found.items()} == {
        "before": [1] * 5,
        "matrix": MATRIX.tolist(),
        "none": [],
    }
    assert all(one.flags.writeable for one in found.values())


RESIDENT = """
import sys
from pathlib import Path
import numpy as np
from seq2set.core.tensor_files import TensorRows, read_header

def measure():
    text = Path("/proc/self/smaps_rollup").read_text()
    return int(text.partition("Rss:")[2].split()[0]) * 1024

path = Path(sys.argv[1])
stored, before = TensorRows(path, read_header(path)["large"]), measure()
for start in range(0, stored.shape[0], 1000):
    stored[np.arange(start, min(start + 1000, stored.shape[0]), 7)]
print(measure() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")
def test_looking_at_many_rows_takes_no_memory_of_the_file(tmp_path: Path) -> None:
    large = np.ones((100_000, 100), np.float32)  # 40 MB, of which every page is looked at
    save_file({"large": large}, tmp_path / "file")
    told = subprocess.run(
        [sys.executable, "-c", RESIDENT, str(tmp_path / "file")], capture_output=True, text=True, check=True
    )
    assert int(told.stdout) < 10_000_000
