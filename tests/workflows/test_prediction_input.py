from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.readers import ReadOptions
from seq2set.workflows import prediction_input
from seq2set.workflows.prediction_input import find_inputs, read_blocks, take_files, take_texts

OPTIONS = ReadOptions(labels=None, keep_columns=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text(f"text,of\nwheat,{name}\ncrude,{name}\n")
    with gzip.open(tmp_path / "c.jsonl.gz", "wt") as stream:
        stream.write('{"text": "bank", "more": 3}\n')
    (tmp_path / "notes.md").write_text("no texts")
    (tmp_path / ".hidden.csv").write_text("no texts")
    return tmp_path


def names(*given: str) -> list[str]:
    return [Path(file.name).name for file in find_inputs(given)]


def test_files_globs_folders_and_addresses_are_found_in_order(folder: Path) -> None:
    assert names(str(folder / "b.csv"), str(folder / "a.csv")) == ["b.csv", "a.csv"]
    assert names(f"{folder}/*.csv") == ["a.csv", "b.csv"]
    assert names(str(folder)) == ["a.csv", "b.csv", "c.jsonl.gz"]
    assert names(f"file://{folder}") == ["a.csv", "b.csv", "c.jsonl.gz"]
    assert names(f"file://{folder}/b.csv") == ["b.csv"]


def test_what_cannot_be_found_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    (empty := tmp_path / "empty").mkdir()
    for given, sentence in {
        f"{folder}/x.csv": "x.csv: the file does not exist",
        f"{folder}/*.tsv": "no file matches",
        str(empty): "the folder holds no file that ends in .csv, .tsv, .tab, .jsonl",
        f"file://{empty}": "there is no file that ends in .csv",
        f"file://{folder}/x.csv": "there is no file that ends in .csv",
        f"{folder}/notes.md": "the format '.md' is not known",
    }.items():
        with pytest.raises(CorpusError, match=sentence):
            find_inputs([given])
    with pytest.raises(InputError, match="https://example.org/a.csv cannot be opened by pyarrow: "):
        find_inputs(["https://example.org/a.csv"])
    with pytest.raises(InputError, match=r"a\.csv is named twice; name every input once"):
        find_inputs([f"{folder}/a.csv", f"{folder}/*.csv"])


def test_blocks_never_span_two_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_input, "BLOCK", 3)
    for given in (str(folder), f"file://{folder}"):
        blocks = list(read_blocks(find_inputs([given]), OPTIONS))
        assert [(file, [one.text for one in block]) for file, block in blocks] == [
            (0, ["wheat", "crude"]),
            (1, ["wheat", "crude"]),
            (2, ["bank"]),
        ]
    monkeypatch.setattr(prediction_input, "BLOCK", 1)
    assert len(list(read_blocks(find_inputs([str(folder)]), OPTIONS))) == 5


def test_files_are_summed_up_before_anything_is_computed(folder: Path) -> None:
    source = take_files(find_inputs([str(folder)]), OPTIONS)
    assert (source.documents, source.columns, source.types) == (5, ["text", "of", "more"], None)
    pq.write_table(pa.table({"n": [1], "text": ["wheat"]}), folder / "d.parquet")
    source = take_files(find_inputs([str(folder / "d.parquet")]), OPTIONS)
    assert source.types == {"n": pa.int64(), "text": pa.string()}
    (folder / "b.csv").write_text("text,of\nwheat,b\ncrude\n")
    with pytest.raises(CorpusError, match=r"b\.csv, line 3: the row has 1 cell;"):
        take_files(find_inputs([str(folder)]), OPTIONS)


def test_few_texts_are_counted_and_many_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_input, "FEW", 3)
    assert take_texts(["a", "b"]).documents == 2
    many = take_texts(iter("abcd"))
    assert many.documents is None
    ((_, block),) = many.blocks
    assert [(one.id, one.text, one.columns) for one in block[2:]] == [
        ("3", "c", {"id": "3", "text": "c"}),
        ("4", "d", {"id": "4", "text": "d"}),
    ]
