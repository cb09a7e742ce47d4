from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seq2set.core import flat_arrays
from seq2set.core.flat_arrays import FlatArray, FlatLists, StoredLists


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_arrays, "BLOCK", 4)


def test_numbers_are_read_back_in_blocks_and_mapped(tmp_path: Path) -> None:
    column = FlatArray(tmp_path / "a", "uint64")
    numbers = [2**64 - 1, *range(9)]
    column.append(numbers[0])
    column.extend(numbers[1:6])
    for number in numbers[6:]:
        column.append(number)
    assert len(column) == 10
    assert [block.tolist() for block in column.blocks(4)] == [numbers[:4], numbers[4:8], numbers[8:]]
    assert column.read(3, 5).tolist() == numbers[3:5]
    assert column.read(5, 5).tolist() == []
    mapped = column.map()
    assert (mapped.dtype, mapped.tolist()) == (np.uint64, numbers)
    column.delete()
    assert not (tmp_path / "a").exists()


def test_a_column_may_be_empty(tmp_path: Path) -> None:
    column = FlatArray(tmp_path / "a", "int8")
    assert (len(column), list(column.blocks()), column.map().tolist()) == (0, [], [])
    column.delete()


def test_lists_keep_their_lengths(tmp_path: Path) -> None:
    lists = FlatLists(tmp_path, "labels")
    for one in ([1, 2, 3], [], [4], [5, 6]):
        lists.append(one)
    found = [(lengths.tolist(), values.tolist()) for lengths, values in lists.blocks(3)]
    assert found == [([3, 0, 1], [1, 2, 3, 4]), ([2], [5, 6])]
    assert len(lists) == 4
    lists.delete()
    assert list(tmp_path.iterdir()) == []


def test_stored_lists_are_read_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_arrays, "_STRIDE", 2)
    monkeypatch.setattr(flat_arrays, "_BYTES", 8)
    stored = StoredLists(tmp_path)
    stored.extend(np.array(one) for one in ([7, 8, 9], [], [-1]))
    assert (len(stored), stored[2].tolist(), stored[0].tolist()) == (3, [-1], [7, 8, 9])
    stored.extend([np.arange(300), np.array([5])])  # after something was read
    assert [one.tolist() for one in stored] == [[7, 8, 9], [], [-1], list(range(300)), [5]]
    assert [one.tolist() for one in stored[3:]] == [list(range(300)), [5]]
    assert (stored.lengths.tolist(), stored.lengths.dtype) == ([3, 0, 1, 300, 1], np.uint16)
    with pytest.raises(IndexError):
        stored[5]
    assert list(tmp_path.iterdir()) == []  # the file has no name


def test_stored_lists_go_to_another_process_by_files(tmp_path: Path) -> None:
    stored = StoredLists(kind="int64")
    assert (len(stored), list(stored)) == (0, [])
    stored.extend([np.array([2**40, 1]), np.array([3])])
    stored.copy_to(tmp_path, "words")
    again = StoredLists.open(tmp_path, "words", "int64")
    assert [one.tolist() for one in again] == [[2**40, 1], [3]]
    again.extend([])
    assert len(again) == 2
