"""Columns that stay in their file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.core.errors import CorpusError
from seq2set.corpora.readers import parquet
from seq2set.corpora.readers.parquet import StoredColumn

TEXTS = [f"text {number}" for number in range(10)]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(parquet, "AT_A_TIME", 3)
    sets = [["a"] * (number % 3) for number in range(10)]
    table = pa.table({"text": TEXTS, "labels": sets})
    pq.write_table(table, tmp_path / "c.parquet", row_group_size=4, write_page_checksum=True)
    return tmp_path / "c.parquet"


def test_it_is_read_as_a_list_is(path: Path) -> None:
    column = StoredColumn[str](path, "text")
    assert (len(column), list(column), list(column)) == (10, TEXTS, TEXTS)
    for wanted in (slice(2, 9), slice(8, 99), slice(5, 5), slice(None, None, -3), slice(-2, None)):
        assert column[wanted] == TEXTS[wanted]
    assert [column[place] for place in (9, 0, 4, -1)] == [TEXTS[place] for place in (9, 0, 4, -1)]
    with pytest.raises(IndexError):
        column[10]
    assert list(StoredColumn[list[str]](path, "labels"))[:4] == [[], ["a"], ["a", "a"], []]


def test_some_of_it_stays_in_the_file_too(path: Path) -> None:
    column = StoredColumn[str](path, "text")
    some = column.pick(np.array([1, 3, 4, 8, 9]))
    assert isinstance(some, StoredColumn)
    assert (list(some), some[1:3], some[-1]) == ([TEXTS[i] for i in (1, 3, 4, 8, 9)], TEXTS[3:5], TEXTS[9])
    assert list(some.pick(np.array([0, 4]))) == [TEXTS[1], TEXTS[9]]
    assert column.pick(np.array([5, 2, 2])) == [TEXTS[5], TEXTS[2], TEXTS[2]]  # in no order: a list
    assert list(column.pick(np.zeros(0, np.int64))) == []


def test_a_file_that_is_replaced_is_read_to_its_end(path: Path) -> None:
    column = StoredColumn[str](path, "text")
    other = path.with_name("other.parquet")
    pq.write_table(pa.table({"text": ["another"] * 10}), other)
    other.replace(path)
    assert list(column) == TEXTS


def test_damage_is_named(path: Path) -> None:
    column = StoredColumn[str](path, "text")
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(len(data) - 4))  # the same file, and all of it gone
    with pytest.raises(CorpusError, match=r"c\.parquet: the file is damaged, or not a Parquet file"):
        list(column)
