from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.core.errors import CorpusError, UnknownNameError
from seq2set.core.files import compute_sha256
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus, Split, is_prepared
from seq2set.corpora.splits import SplitPlan

DOCUMENTS = [
    Document("a", "one two", ("x", "y"), "train"),
    Document("b", "three", (), "train"),
    Document("c", "four", ("y",), "train"),
    Document("d", "five", ("x",), "test"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plan = SplitPlan("given", valid=0)
    return prepare(DOCUMENTS, tmp_path / "c", name="few", source="here", licence="none", plan=plan).folder


def test_columns_are_given_whole(folder: Path) -> None:
    corpus = PreparedCorpus.open(folder)
    train = corpus.split("train")
    assert corpus.name == "few"
    assert (len(train), train.name) == (3, "train")
    assert train.ids() == ["a", "b", "c"]
    assert train.texts() == ["one two", "three", "four"]
    assert train.labels() == [["x", "y"], [], ["y"]]


def test_a_split_may_have_no_document(folder: Path) -> None:
    valid = PreparedCorpus.open(folder).split("valid")
    assert (len(valid), valid.ids(), valid.texts(), valid.labels()) == (0, [], [], [])
    assert list(valid.iter_batches(10)) == []


def test_batches_are_full_but_for_the_last(folder: Path) -> None:
    batches = list(PreparedCorpus.open(folder).split("train").iter_batches(2))
    assert batches == [DOCUMENTS[:2], DOCUMENTS[2:3]]


def test_batches_reach_over_the_row_groups_of_a_file(folder: Path) -> None:
    corpus = PreparedCorpus.open(folder)
    table = pq.read_table(folder / "train.parquet")
    pq.write_table(table, folder / "train.parquet", row_group_size=1)
    assert [len(batch) for batch in corpus.split("train").iter_batches(2)] == [2, 1]


def test_the_fingerprint_follows_the_documents(folder: Path, tmp_path: Path) -> None:
    first = PreparedCorpus.open(folder).fingerprint
    assert re.fullmatch("[0-9a-f]{16}", first)
    *some, last = DOCUMENTS
    changed = {
        "same": DOCUMENTS,
        "text": [*some, last._replace(text="5")],
        "label": [*some, last._replace(labels=("z",))],
        "id": [*some, last._replace(id="9")],
        "split": [*some, last._replace(split="train" if last.split == "test" else "test")],
        "order": [DOCUMENTS[1], DOCUMENTS[0], *DOCUMENTS[2:]],
    }
    plan = SplitPlan("given", valid=0)
    found = {
        name: prepare(documents, tmp_path / name, name=name, source="", licence="", plan=plan).fingerprint
        for name, documents in changed.items()
    }
    assert found["same"] == first
    assert len(set(found.values())) == len(changed)


def test_an_unknown_split_is_refused(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="split 'tests' is not known, did you mean 'test'"):
        PreparedCorpus.open(folder).split("tests")


def test_verify_finds_one_flipped_bit(folder: Path) -> None:
    corpus = PreparedCorpus.open(folder)
    corpus.verify()
    data = bytearray((folder / "test.parquet").read_bytes())
    data[10] ^= 1
    (folder / "test.parquet").write_bytes(data)
    with pytest.raises(
        CorpusError, match=r"test\.parquet: the file's SHA-256 is not the one in corpus\.json"
    ):
        corpus.verify()


def test_other_folders_are_no_prepared_corpora(tmp_path: Path) -> None:
    assert not is_prepared(tmp_path)
    with pytest.raises(CorpusError, match=r"the folder has no corpus\.json; it is not a prepared corpus"):
        PreparedCorpus.open(tmp_path)
    with pytest.raises(CorpusError, match="the folder of the prepared corpus does not exist"):
        PreparedCorpus.open(tmp_path / "absent")


@pytest.mark.parametrize("split", SPLITS)
def test_a_missing_file_is_named(folder: Path, split: str) -> None:
    (folder / f"{split}.parquet").unlink()
    with pytest.raises(CorpusError, match=f"{split}.parquet: the file of the prepared corpus is missing"):
        PreparedCorpus.open(folder)


def test_a_file_of_another_size_is_named(folder: Path) -> None:
    path = folder / "train.parquet"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"x")
    message = (
        f"train.parquet: the file has {size + 1:,} bytes and corpus.json says {size:,}; prepare it again"
    )
    with pytest.raises(CorpusError, match=re.escape(message)):
        PreparedCorpus.open(folder)


def test_other_columns_are_named(folder: Path) -> None:
    pq.write_table(pa.table({"id": [1], "text": ["t"]}), folder / "train.parquet")
    change_facts(folder, lambda facts: facts["files"]["train.parquet"].update(describe(folder)))
    message = (
        "the columns are id: int64, text: string; they must be id: string, text: string, labels: list<string>"
    )
    with pytest.raises(CorpusError, match=re.escape(message)):
        PreparedCorpus.open(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.pop("name"),
        lambda facts: facts.pop("files"),
        lambda facts: facts["files"].pop("valid.parquet"),
        lambda facts: facts["files"].update({"train.parquet": 3}),
    ],
)
def test_incomplete_facts_are_refused(folder: Path, change: Any) -> None:
    change_facts(folder, change)
    with pytest.raises(CorpusError, match=r"corpus\.json: the file is damaged or incomplete"):
        PreparedCorpus.open(folder)


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "\udcff"])
def test_facts_that_are_no_object_are_refused(folder: Path, text: str) -> None:
    (folder / "corpus.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(CorpusError, match=r"corpus\.json: the file is damaged or incomplete"):
        PreparedCorpus.open(folder)


@pytest.mark.parametrize("change", [{"format": 2}, {"name": 3}])
def test_another_format_is_refused(folder: Path, change: dict[str, Any]) -> None:
    change_facts(folder, lambda facts: facts.update(change))
    with pytest.raises(
        CorpusError, match=r"corpus\.json: the file is not of format 1; prepare the corpus again"
    ):
        PreparedCorpus.open(folder)


def change_facts(folder: Path, change: Any) -> None:
    facts = json.loads((folder / "corpus.json").read_text())
    change(facts)
    (folder / "corpus.json").write_text(json.dumps(facts))


def describe(folder: Path) -> dict[str, Any]:
    path = folder / "train.parquet"
    return {"bytes": path.stat().st_size, "sha256": compute_sha256(path)}


GROUPED = [
    Document("a", "one two", ("x", "y"), "train", "g1"),
    Document("b", "three", (), "train", "g2"),
    Document("c", "four", ("y",), "train"),
    Document("d", "five", ("x",), "test", "g1"),
]


def test_groups_are_kept_where_documents_have_them(tmp_path: Path) -> None:
    plan = SplitPlan("given", valid=0)
    corpus = prepare(GROUPED, tmp_path / "c", name="few", source="here", licence="none", plan=plan)
    reopened = PreparedCorpus.open(corpus.folder)
    # A document without a group is a group of its own.
    assert reopened.split("train").groups() == ["g1", "g2", "document c"]
    assert reopened.split("test").groups() == ["g1"]
    assert reopened.split("valid").groups() == []
    assert [one for batch in reopened.split("train").iter_batches(2) for one in batch] == GROUPED[:3]
    assert pq.read_schema(corpus.folder / "train.parquet").names == ["id", "text", "labels", "group"]
    assert reopened.facts["counts"]["groups"] == 2


def test_a_corpus_without_groups_has_no_column_for_them(folder: Path) -> None:
    corpus = PreparedCorpus.open(folder)
    assert corpus.split("train").groups() is None
    assert corpus.split("valid").groups() is None
    assert pq.read_schema(folder / "train.parquet").names == ["id", "text", "labels"]
    assert "groups" not in corpus.facts["counts"]
    assert all(document.group is None for document in next(corpus.split("train").iter_batches(9)))


@pytest.mark.parametrize(
    "read", [Split.texts, lambda split: list(split.store("text")), lambda split: list(split.iter_batches(9))]
)
def test_a_text_that_is_no_utf_8_is_damage(folder: Path, read: Callable[[Split], object]) -> None:
    path, record = folder / "train.parquet", folder / "corpus.json"
    table = pq.read_table(path)
    texts = pa.array([b"\x80"] * len(table), pa.binary()).view(pa.string())
    pq.write_table(table.set_column(1, "text", texts), path)
    facts = json.loads(record.read_text())
    facts["files"]["train.parquet"] = {"sha256": compute_sha256(path), "bytes": path.stat().st_size}
    record.write_text(json.dumps(facts))
    with pytest.raises(
        CorpusError, match=r"train\.parquet: the file is damaged, or not a Parquet file: 'utf-8'"
    ):
        read(PreparedCorpus.open(folder).split("train"))
