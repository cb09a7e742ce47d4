"""Prepared corpora that somebody else made or damaged: found on opening, not after the training."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.core.errors import CorpusError
from seq2set.core.files import compute_sha256
from seq2set.corpora.prepared import SCHEMA, PreparedCorpus


@pytest.fixture
def folder(small_corpus: PreparedCorpus, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_corpus.folder, tmp_path / "corpus"))


def change(folder: Path, alter: Callable[[dict[str, Any]], Any]) -> Path:
    facts = json.loads((folder / "corpus.json").read_text())
    alter(facts)
    (folder / "corpus.json").write_text(json.dumps(facts))
    return folder


@pytest.mark.parametrize(
    ("alter", "sentence"),
    [
        (lambda facts: facts.pop("licence"), "licence is None; it must be a text"),
        (lambda facts: facts.update(source=["x"]), r"source is \['x'\]; it must be a text"),
        (lambda facts: facts.update(counts=3), "counts is 3; it must be an object"),
        (lambda facts: facts.update(notes=[]), r"notes is \[\]; it must be an object"),
        (lambda facts: facts["split"].update(seed="1"), "split.seed is no whole number"),
        (lambda facts: facts["files"]["test.parquet"].update(sha256=1), "files.test.parquet has no size"),
        (lambda facts: facts["notes"].update(tree={"a": "b", "b": "a"}), "label '[ab]' stands above itself"),
        (lambda facts: facts["notes"].update(tree={"a": "a"}), "the label 'a' stands above itself"),
        (lambda facts: facts["notes"].update(tree={"a": 1}), "notes.tree does not name a label's parent"),
        (lambda facts: facts["notes"].update(tree=["a"]), "notes.tree does not name a label's parent"),
    ],
)
def test_what_corpus_json_must_hold(alter: Any, sentence: str, folder: Path) -> None:
    with pytest.raises(CorpusError, match=f"corpus.json: the file is damaged or incomplete: .*{sentence}"):
        PreparedCorpus.open(change(folder, alter))


def test_json_nested_deeply(folder: Path) -> None:
    (folder / "corpus.json").write_text("[" * 200_000)
    with pytest.raises(CorpusError, match="corpus.json: the file is damaged or incomplete"):
        PreparedCorpus.open(folder)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("text", ["a", None, "c"]),
        ("id", ["1", None, "3"]),
        ("labels", [["x"], None, ["y"]]),
        ("labels", [["x"], ["x", None], []]),
    ],
)
def test_cells_without_a_value(column: str, values: list[Any], folder: Path) -> None:
    rows = {"id": ["1", "2", "3"], "text": ["a", "b", "c"], "labels": [["x"], [], ["y"]]} | {column: values}
    path = folder / "train.parquet"
    pq.write_table(pa.table(rows, schema=SCHEMA), path)
    about = {"bytes": path.stat().st_size, "sha256": compute_sha256(path)}
    with pytest.raises(
        CorpusError, match=rf"train.parquet: the column '{column}' has no value in rows? [12]"
    ):
        PreparedCorpus.open(change(folder, lambda facts: facts["files"].update({"train.parquet": about})))
