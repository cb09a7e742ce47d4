from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seq2set.core import flat_arrays
from seq2set.core.flat_arrays import FlatArray, FlatLists


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
