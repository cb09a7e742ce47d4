from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import ReadOptions, read_documents


def read(path: Path, columns: dict[str, Any], **options: str) -> list[Document]:
    pq.write_table(pa.table(columns), path)
    return list(read_documents(path, ReadOptions(**options)))


def test_rows_become_documents(tmp_path: Path) -> None:
    columns = {"id": [4, None], "text": ["one", None], "labels": [["x", "x"], None], "unused": [1.5, 2.5]}
    assert read(tmp_path / "a.parquet", columns) == [Document("4", "one", ("x",)), Document("2", "", ())]


def test_labels_may_be_one_text_and_other_columns_are_read_by_name(tmp_path: Path) -> None:
    columns = {"body": ["t"], "tags": ["x, y"], "fold": ["test"]}
    documents = read(tmp_path / "a.parquet", columns, text="body", labels="tags", split="fold", separator=",")
    assert documents == [Document("1", "t", ("x", "y"), "test")]


def test_dictionaries_and_large_texts_are_texts(tmp_path: Path) -> None:
    columns = {
        "text": pa.array(["t"], pa.large_string()).dictionary_encode(),
        "labels": pa.array([["x"]], pa.large_list(pa.large_string())),
    }
    assert read(tmp_path / "a.parquet", columns) == [Document("1", "t", ("x",))]


def test_many_rows_are_numbered_through(tmp_path: Path) -> None:
    documents = read(tmp_path / "a.parquet", {"text": ["t"] * 3000, "labels": [["x"]] * 3000})
    assert [document.id for document in documents] == [str(number) for number in range(1, 3001)]


def test_wrong_types_name_the_row(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="line 1: column 'labels' holds a list with true or false in it"):
        read(tmp_path / "a.parquet", {"text": ["t"], "labels": [[True]]})
    with pytest.raises(CorpusError, match="line 2: column 'text' holds a number; it must hold a text"):
        read(tmp_path / "a.parquet", {"text": [None, 0.5], "labels": ["x", "y"]})


def test_bytes_are_read_as_utf_8(tmp_path: Path) -> None:
    (document,) = read(tmp_path / "a.parquet", {"text": ["Größe".encode()], "labels": [[1]]})
    assert (document.text, document.labels) == ("Größe", ("1",))


def test_a_missing_column_lists_those_there_are(tmp_path: Path) -> None:
    message = "there is no column 'text', did you mean 'texts'?; the columns are: texts, labels"
    with pytest.raises(CorpusError, match=re.escape(message)):
        read(tmp_path / "a.parquet", {"texts": ["t"], "labels": ["x"]})


def test_files_that_are_no_parquet_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"")
    with pytest.raises(CorpusError, match="the file is empty"):
        list(read_documents(path))
    path.write_bytes(b"id,text,labels\n" * 20)
    with pytest.raises(CorpusError, match="the file is damaged, or not a Parquet file: "):
        list(read_documents(path))


def test_damage_inside_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    read(path, {"text": [f"text {n}" * 20 for n in range(500)], "labels": ["x"] * 500})
    data = bytearray(path.read_bytes())
    data[4:400] = b"\xff" * 396
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"a\.parquet: the file is damaged, or not a Parquet file: "):
        list(read_documents(path))


def test_no_permission_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read(tmp_path / "a.parquet", {"text": ["t"], "labels": ["x"]})

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(pq, "ParquetFile", refuse)
    with pytest.raises(CorpusError, match="the file cannot be read: permission is denied"):
        list(read_documents(tmp_path / "a.parquet"))


def test_a_list_column_may_have_dots_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["wheat", "oil"], "meta.tags": [["x", "y"], []]}), path)
    found = list(read_documents(path, ReadOptions(labels="meta.tags")))
    assert [one.labels for one in found] == [("x", "y"), ()]
