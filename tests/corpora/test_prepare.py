from __future__ import annotations

import errno
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.core.errors import CorpusError, InputError, OutputError
from seq2set.corpora import first_pass
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepare import PrepareOptions, prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan


def prepared(
    documents: Any, out: Path, plan: SplitPlan | None = None, notes: Any = None, **options: Any
) -> PreparedCorpus:
    facts = {"name": "c", "source": "here", "licence": "free", "plan": plan or SplitPlan("given")}
    return prepare(documents, out, options=PrepareOptions(**options), notes=notes, **facts)


def generated(number: int, words: int = 3) -> Iterator[Document]:
    for index in range(number):
        labels = tuple(f"l{label}" for label in range(7) if (index >> label) & 1)
        yield Document(
            f"d{index}", " ".join(f"w{index}" for _ in range(words)), labels, group=f"g{index // 4}"
        )


def contents(corpus: PreparedCorpus) -> dict[str, Document]:
    batches = (batch for name in SPLITS for batch in corpus.split(name).iter_batches(50))
    return {document.id: document for batch in batches for document in batch}


# Five train documents and a test document. "long" has 4 words and goes; label "rare" then has one document.
DOCUMENTS = [
    Document("a", "one two", ("y", "x"), "train"),
    Document("b", "   ", ("x",), "train"),
    Document("c", "three", ("rare",), "train"),
    Document("long", "one two three four", ("x", "rare", "gone"), "train"),
    Document("d", "one two three", (), "val"),
    Document("e", "four", ("y", "x", "y"), "test"),
]


def test_long_documents_and_rare_labels_go(tmp_path: Path) -> None:
    corpus = prepared(DOCUMENTS, tmp_path / "c", max_words=3, min_label_documents=2)
    assert corpus.split("train").ids() == ["a", "b", "c"]
    assert corpus.split("train").labels() == [["y", "x"], ["x"], []]
    assert corpus.split("valid").ids() == ["d"]
    assert corpus.split("test").labels() == [["y", "x"]]
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        "corpus.json",
        "test.parquet",
        "train.parquet",
        "valid.parquet",
    ]


def test_the_facts_tell_all_of_it(tmp_path: Path) -> None:
    plan = SplitPlan("given", valid=7, test=0.5, seed=3)
    prepared(DOCUMENTS, tmp_path / "c", plan, max_words=3, min_label_documents=2, notes={"form": "list"})
    facts = json.loads((tmp_path / "c" / "corpus.json").read_text())
    files = facts.pop("files")
    assert facts.pop("created_by").startswith("seq2set ")
    # Words: 2 + 0 + 1 + 3 + 1 = 7 of 5 documents. Labels: 2 + 1 + 0 + 0 + 2 = 5 of 5.
    assert facts == {
        "format": 1,
        "name": "c",
        "source": "here",
        "licence": "free",
        "counts": {
            "documents": {"train": 3, "valid": 1, "test": 1},
            "labels": 2,
            "documents_removed_for_length": 1,
            "labels_removed": 2,
            "documents_without_labels": 2,
            "documents_without_text": 1,
            "words_per_document": 1.4,
            "labels_per_document": 1.0,
        },
        "split": {"method": "given", "seed": 3, "valid": 7, "test": 0.5},
        "max_words": 3,
        "min_label_documents": 2,
        "notes": {"form": "list"},
    }
    for name, recorded in files.items():
        data = (tmp_path / "c" / name).read_bytes()
        assert re.fullmatch("[0-9a-f]{64}", recorded.pop("content"))
        assert recorded == {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    assert sorted(files) == ["test.parquet", "train.parquet", "valid.parquet"]


def test_no_limit_keeps_long_documents_and_the_limit_itself_stays(tmp_path: Path) -> None:
    assert len(prepared(DOCUMENTS, tmp_path / "a").split("train")) == 4
    assert len(prepared(DOCUMENTS, tmp_path / "none", max_words=0).split("train")) == 4
    assert len(prepared(DOCUMENTS, tmp_path / "b", max_words=4).split("train")) == 4


@pytest.mark.parametrize("method", ["random", "grouped", "stratified"])
def test_no_document_is_lost_or_changed(tmp_path: Path, method: Any) -> None:
    # More documents than one row group of the first pass holds.
    corpus = prepared(generated(9000), tmp_path / "c", SplitPlan(method, 1000, 500))
    seen = contents(corpus)
    assert len(seen) == 9000
    for document in generated(9000):
        assert seen[document.id][:3] == document[:3]
    if method != "grouped":
        assert [len(corpus.split(name)) for name in SPLITS] == [7500, 1000, 500]


def test_labels_stay_with_their_documents_where_others_were_removed(tmp_path: Path) -> None:
    # Every third document is too long, in each of three row groups of the first pass.
    documents = [d._replace(text="a b c d") if i % 3 == 0 else d for i, d in enumerate(generated(9000))]
    seen = contents(prepared(documents, tmp_path / "c", SplitPlan(), max_words=3))
    assert len(seen) == 6000
    for index, document in enumerate(documents):
        if index % 3:
            assert seen[document.id][:3] == document[:3]


def test_groups_stay_together(tmp_path: Path) -> None:
    corpus = prepared(generated(400), tmp_path / "c", SplitPlan("grouped"))
    groups = {name: {int(i[1:]) // 4 for i in corpus.split(name).ids()} for name in SPLITS}
    assert not groups["train"] & groups["test"]
    assert not groups["train"] & groups["valid"]
    assert [len(groups[name]) for name in SPLITS] == [80, 10, 10]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        prepared(generated(500), tmp_path / name, SplitPlan("stratified"))
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_notes_may_be_filled_while_reading(tmp_path: Path) -> None:
    notes: dict[str, Any] = {}

    def documents() -> Iterator[Document]:
        yield from DOCUMENTS
        notes["last"] = "e"

    assert prepared(documents(), tmp_path / "c", notes=notes).facts["notes"] == {"last": "e"}


def test_progress_adds_up_to_the_number_of_documents(tmp_path: Path) -> None:
    seen: list[int] = []
    prepared(generated(5000), tmp_path / "c", SplitPlan(), progress=seen.append)
    assert seen == [4096, 904]


MEMORY = """
import re, sys
from pathlib import Path
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.splits import SplitPlan

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

before = peak()
documents = (Document(str(index), f"{index:0999} " * 200, ("x",)) for index in range(2200))
prepare(documents, Path(sys.argv[1]), name="c", source="", licence="", plan=SplitPlan())
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_memory_does_not_grow_with_the_texts(tmp_path: Path) -> None:
    # 2,200 texts of 200 KB are 440 MB, and a peak that held them all would rise by at least that.
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "c")]
    grown = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert grown < 300e6


def test_hard_documents_pass(tmp_path: Path) -> None:
    many = tuple(f"l{number}" for number in range(100_000))
    documents = [
        Document("1", "x" * (10 * 2**20), many),
        Document("2", "\0 \ud800 half a pair", ("\udc00",)),
        Document("\udfff", "", ()),
    ]
    corpus = prepared(documents, tmp_path / "c", SplitPlan(valid=0, test=0))
    assert corpus.split("train").ids() == ["1", "2", "\ufffd"]
    assert corpus.split("train").labels() == [list(many), ["\ufffd"], []]
    assert corpus.split("train").texts()[1] == "\0 \ufffd half a pair"


@settings(max_examples=25, deadline=None)
@given(
    sets=st.lists(st.lists(st.sampled_from("abcdef"), unique=True), min_size=4, max_size=30),
    least=st.integers(1, 4),
)
def test_labels_keep_their_order_without_the_rare_ones(
    tmp_path_factory: pytest.TempPathFactory, sets: list[list[str]], least: int
) -> None:
    documents = [Document("0", "", ("z",)), *(Document(f"d{i}", "t", tuple(s)) for i, s in enumerate(sets))]
    documents += [Document(f"z{i}", "", ("z",)) for i in range(4)]
    plan = SplitPlan(valid=1, test=1)
    corpus = prepared(documents, tmp_path_factory.mktemp("p") / "c", plan, min_label_documents=least)
    frequent = {label for label in "abcdefz" if sum(label in d.labels for d in documents) >= least}
    seen = contents(corpus)
    for document in documents:
        assert seen[document.id].labels == tuple(label for label in document.labels if label in frequent)


@pytest.mark.parametrize("between", [0, 6000])
def test_repeated_ids_are_made_unique(tmp_path: Path, between: int) -> None:
    names = ["d", "d-2", *(f"e{index}" for index in range(between)), "d", "d", "x"]
    documents = [Document(name, f"t{place}", ("x",)) for place, name in enumerate(names)]
    corpus = prepared(documents, tmp_path / "c", SplitPlan("random", 0, 0))
    # The third document is not d-2, which another is called.
    assert corpus.split("train").ids() == [*names[:-3], "d-3", "d-4", "x"]
    sentence = (
        "2 documents have an id that another has, and a number behind it now; --id names another column"
    )
    assert corpus.remarks == [sentence]


def test_different_ids_may_share_a_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_pass, "_hash", lambda name: len(name) % 2)
    assert len(contents(prepared(generated(300), tmp_path / "c", SplitPlan()))) == 300


def fails(match: str, documents: Any, out: Path, plan: SplitPlan | None = None, **more: Any) -> None:
    with pytest.raises(InputError, match=match):
        prepared(documents, out / "c", plan, **more)
    assert list(out.iterdir()) == []


def test_nothing_to_prepare_is_refused(tmp_path: Path) -> None:
    fails("holds no document; at least one is needed", [], tmp_path)
    long = [Document("a", "one two", ("x",), "train")]
    fails(
        "all 1 documents have more than 1 words and were removed; raise max_words",
        long,
        tmp_path,
        max_words=1,
    )


def test_a_training_split_without_documents_or_labels_is_refused(tmp_path: Path) -> None:
    fails(
        "the training split has no document",
        [Document("a", "t", ("x",), "test")],
        tmp_path,
        SplitPlan("given", 0),
    )
    documents = [Document("a", "t", (), "train"), Document("b", "t", ("x",), "test")]
    match = "no document of the training split has a label; there is nothing to learn"
    fails(match, documents, tmp_path, SplitPlan("given", 0))


def test_documents_without_the_split_or_the_group_needed_are_named(tmp_path: Path) -> None:
    plain, odd = Document("a7", "t", ("x",)), Document("a8", "t", ("x",), "holdout")
    allowed = "split as 'given' needs train, valid, test"
    fails(f"document 'a7' has no split; {allowed}", [plain], tmp_path)
    fails(f"document 'a8' has the split 'holdout'; {allowed}", [odd], tmp_path)
    match = "document 'a7' has no group; split by 'grouped' needs one in each"
    fails(match, [plain], tmp_path, SplitPlan("grouped"))


def test_impossible_limits_and_sizes_are_refused(tmp_path: Path) -> None:
    fails("max_words is -1; it must be 1 or more, or 0 for no limit", DOCUMENTS, tmp_path, max_words=-1)
    fails("min_label_documents is 0; it must be 1 or more", DOCUMENTS, tmp_path, min_label_documents=0)
    fails("want 6 of 6 documents", DOCUMENTS, tmp_path, SplitPlan("random", 3, 3))


def test_an_occupied_folder_is_refused_unless_forced(tmp_path: Path) -> None:
    prepared(DOCUMENTS, tmp_path / "c")
    with pytest.raises(OutputError, match="is not empty; name another folder or pass --force"):
        prepared(generated(10), tmp_path / "c", SplitPlan())
    assert len(prepared(generated(10), tmp_path / "c", SplitPlan(), force=True).split("train")) == 8


def test_a_fault_while_reading_leaves_the_old_corpus(tmp_path: Path) -> None:
    prepared(DOCUMENTS, tmp_path / "c")

    def documents() -> Iterator[Document]:
        yield DOCUMENTS[0]
        raise CorpusError("broken", "a.csv", 7)

    with pytest.raises(CorpusError, match=r"a\.csv, line 7: broken"):
        prepared(documents(), tmp_path / "c", force=True)
    assert len(contents(PreparedCorpus.open(tmp_path / "c"))) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OutputError, match=r"cannot write to .*c: the disk is full"):
        prepared(DOCUMENTS, tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_asked_for_stays_as_the_source_has_it() -> None:
    plan = SplitPlan("random", valid=10, test=20, seed=3)
    assert PrepareOptions().complete(plan) == plan
    assert PrepareOptions().get_min_label_documents(7) == 7


def test_sizes_and_seed_that_are_asked_for_win_even_when_they_are_zero() -> None:
    plan = PrepareOptions(valid=0, test=5, seed=0).complete(SplitPlan("random", valid=10, test=20, seed=3))
    assert plan == SplitPlan("random", valid=0, test=5, seed=0)


def test_many_ids_are_compared_in_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_pass, "_HASHES", 16)
    documents = [Document(f"d{index % 60}", f"t{index}", ("x",)) for index in range(100)]
    ids = prepared(documents, tmp_path / "c", SplitPlan("random", 0, 0)).split("train").ids()
    assert ids == [*(f"d{index}" for index in range(60)), *(f"d{index}-2" for index in range(40))]
