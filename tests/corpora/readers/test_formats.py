from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.core.errors import CorpusError
from seq2set.core.names import load_named
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import FORMATS, FileFormat, ReadOptions, read_column_names, read_documents


def test_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.csv: the file does not exist"):
        read_documents(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("a.docx", "the format '.docx' is not known"),
        ("a.md.gz", "the format '.md' is not known"),
        ("plain", "the name does not end in a format"),
    ],
)
def test_an_unknown_format_lists_the_known_ones(tmp_path: Path, name: str, seen: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(CorpusError, match=f"{seen}; it must be .csv, .tsv, .tab, .jsonl"):
        read_documents(tmp_path / name)


def test_compressed_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet.gz").write_text("x")
    with pytest.raises(CorpusError, match=r"the format '.parquet' is not known.*\(Parquet, Excel may not\)"):
        read_documents(tmp_path / "a.parquet.gz")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_an_empty_file_is_refused_in_every_format(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(CorpusError, match=f"{name}: the file is empty"):
        list(read_documents(tmp_path / name))


@pytest.mark.parametrize("name", FORMATS)
def test_every_row_names_its_reader(name: str) -> None:
    assert callable(load_named(FORMATS[name].read))


def test_a_row_that_is_added_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = FileFormat("Toy", "a toy", (".toy",), f"{__name__}:read_toy")
    monkeypatch.setitem(FORMATS, "toy", row)
    (tmp_path / "a.toy.gz").write_bytes(b"x")
    assert list(read_documents(tmp_path / "a.toy.gz")) == [Document("1", "a.toy.gz", ())]
    assert read_column_names(tmp_path / "a.toy.gz") == []
    (tmp_path / "a.other").write_text("x")
    with pytest.raises(CorpusError, match=r"\.parquet, .*\.toy, and may end in \.gz, \.xz or \.zst"):
        read_documents(tmp_path / "a.other")


def read_toy(path: Path, options: ReadOptions) -> Iterator[Document]:
    yield Document("1", path.name, ())


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_all_columns_are_kept_where_they_are_asked_for(tmp_path: Path, name: str) -> None:
    row = {"owner": "ann", "text": "wheat", "id": "7", "due": "May"}
    cells = [",".join(row), ",".join(row.values())]
    if name == "a.parquet":
        pq.write_table(pa.table({key: [value] for key, value in row.items()}), tmp_path / name)
    elif name == "a.jsonl":
        (tmp_path / name).write_text(json.dumps(row))
    else:
        (tmp_path / name).write_text("\n".join(cells).replace(",", "," if name == "a.csv" else "\t"))
    for keep, columns in ((True, row), (False, None)):
        (document,) = read_documents(tmp_path / name, ReadOptions(labels=None, keep_columns=keep))
        assert document == Document("7", "wheat", (), columns=columns)
        assert list(document.columns or ()) == list(columns or ())
