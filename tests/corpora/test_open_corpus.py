from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seq2set.core.errors import CorpusError, InputError, UnknownNameError
from seq2set.corpora import own_files, sources
from seq2set.corpora.cache import get_cache_folder, locate_cached
from seq2set.corpora.documents import Document
from seq2set.corpora.open_corpus import open_corpus, prepare_source
from seq2set.corpora.prepare import PrepareOptions, prepare
from seq2set.corpora.readers import ReadOptions
from seq2set.corpora.sources import SOURCES, CorpusSource
from seq2set.corpora.sources.raw_corpus import RawCorpus
from seq2set.corpora.splits import SplitPlan


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "corpora"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "My table.v2.csv"
    rows = (f"{i},text {i},a;b,{'test' if i % 5 == 0 else 'train'}\n" for i in range(20))
    path.write_text("id,text,labels,part\n" + "".join(rows))
    return path


def test_a_file_is_prepared_once_and_opened_from_the_cache(table: Path, cache: Path) -> None:
    first = open_corpus(str(table))
    assert (first.name, first.facts["source"]) == ("My-table", "My table.v2.csv")
    assert first.folder.parent == cache
    assert [len(first.split(name)) for name in ("train", "valid", "test")] == [16, 2, 2]
    assert first.facts["split"] == {"method": "random", "seed": 1, "valid": 0.1, "test": 0.1}
    stamp = (first.folder / "corpus.json").stat().st_mtime_ns
    second = open_corpus(str(table))
    assert (second.folder, (second.folder / "corpus.json").stat().st_mtime_ns) == (first.folder, stamp)


def test_whatever_changes_the_documents_changes_the_place(table: Path) -> None:
    places = {
        open_corpus(str(table)).folder,
        open_corpus(str(table), ReadOptions(separator=",")).folder,
        open_corpus(str(table), options=PrepareOptions(seed=2)).folder,
        open_corpus(str(table), options=PrepareOptions(max_words=500)).folder,
    }
    table.write_text(table.read_text().replace("text 3", "another"))
    places.add(open_corpus(str(table)).folder)
    assert len(places) == 5


def test_a_split_column_that_is_named_is_taken_as_given(table: Path) -> None:
    corpus = open_corpus(str(table), ReadOptions(split="part"))
    assert corpus.split("test").ids() == ["0", "5", "10", "15"]
    # 0.1 of 16 training documents is 2 after rounding.
    assert len(corpus.split("valid")) == 2


def test_a_cached_file_with_a_split_column_is_not_read_again(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write_text(table.read_text().replace("part", "split", 1))
    first = open_corpus(str(table), ReadOptions(split="auto"))
    assert len(first.split("test")) == 4
    monkeypatch.setattr(own_files, "read_documents", None)
    monkeypatch.setattr(own_files, "read_column_names", None)
    again = open_corpus(str(table), ReadOptions(split="auto"))
    assert (again.folder, again.remarks) == (first.folder, first.remarks)
    assert again.remarks == ["the column 'split' says which split each document belongs to"]


def test_a_folder_in_the_aapd_layout_is_taken_as_given(tmp_path: Path) -> None:
    for kind, word in (("text", "t"), ("label", "x")):
        for split in ("train", "val", "test"):
            (tmp_path / f"{kind}_{split}").write_text(f"{word}\n" * 3)
    corpus = open_corpus(str(tmp_path))
    assert [len(corpus.split(name)) for name in ("train", "valid", "test")] == [3, 3, 3]
    (tmp_path / "label_test").write_text("y\n" * 3)
    assert open_corpus(str(tmp_path)).split("test").labels() == [["y"]] * 3


def test_a_damaged_copy_is_made_again(table: Path) -> None:
    corpus = open_corpus(str(table))
    (corpus.folder / "train.parquet").unlink()
    assert len(open_corpus(str(table)).split("train")) == 16


def test_a_file_that_cannot_be_used_leaves_nothing_in_the_cache(table: Path, cache: Path) -> None:
    with pytest.raises(CorpusError, match="there is no column 'body'"):
        open_corpus(str(table), ReadOptions(text="body"))
    assert list(cache.iterdir()) == []


def test_a_prepared_folder_is_opened_as_it_is(tmp_path: Path) -> None:
    documents = [Document("a", "t", ("x",), "train")]
    plan = SplitPlan("given", valid=0)
    prepare(documents, tmp_path / "c", name="c", source="", licence="", plan=plan)
    assert open_corpus(str(tmp_path / "c")).folder == tmp_path / "c"


def test_what_is_no_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="the folder is neither a prepared corpus nor in the AAPD layout"):
        open_corpus(str(tmp_path))
    for name in ("absent.csv", "absent/folder"):
        with pytest.raises(CorpusError, match=f"{name}: the file does not exist"):
            open_corpus(str(tmp_path / name))
    with pytest.raises(UnknownNameError, match="corpus 'reuter' is not known, did you mean 'reuters'"):
        open_corpus("reuter")


def test_no_permission_is_one_sentence(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CorpusError, match="the file cannot be read: permission is denied"):
        open_corpus(str(table))


def test_the_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("SEQ2SET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert get_cache_folder() == tmp_path / "xdg" / "seq2set"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert get_cache_folder() == tmp_path / ".cache" / "seq2set"


def fake_source(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Put a small source in the place of `medline`, because the real ones need their data."""

    def documents(path: Path | None, notes: dict[str, object]) -> Iterator[Document]:
        for index in range(20):
            yield Document(str(index), f"{path} " * (index + 1), ("x", f"l{index // 10}"))
        notes["read"] = 20

    def read(path: Path | None, options: PrepareOptions) -> RawCorpus:
        notes: dict[str, object] = {}
        return RawCorpus(documents(path, notes), options.complete(SplitPlan("random", 4, 2)), notes)

    facts = {"how_to_get": "from nowhere", "licence": "free", "needs_path": False, "max_words": 18} | changes
    source = CorpusSource(title="A fake", read="fake:read", min_label_documents=9, **facts)
    monkeypatch.setitem(SOURCES, "medline", source)
    monkeypatch.setattr(sources, "load_named", {"fake:read": read}.__getitem__)


def test_a_known_source_is_prepared_into_the_cache_and_opened_from_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_source(monkeypatch)
    corpus = open_corpus("medline")
    assert corpus.folder == locate_cached("medline")
    # 18 of 20 documents have up to 18 words, of which 4 and 2 are held out; "l1" is left in 8 and goes.
    assert [len(corpus.split(name)) for name in ("train", "valid", "test")] == [12, 4, 2]
    assert corpus.facts["counts"]["labels"] == 2
    assert (corpus.facts["source"], corpus.facts["licence"]) == ("from nowhere", "free")
    assert corpus.facts["notes"] == {"read": 20}
    monkeypatch.setattr(sources, "load_named", None)
    assert open_corpus("medline").fingerprint == corpus.fingerprint


def test_a_source_is_prepared_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_source(monkeypatch)
    path, out = Path("here"), tmp_path / "out"
    corpus = prepare_source("medline", path, out, PrepareOptions(test=5, max_words=0))
    assert [len(corpus.split(name)) for name in ("train", "valid", "test")] == [11, 4, 5]
    assert corpus.split("train").texts()[0].startswith("here ")
    again = prepare_source("medline", path, out, PrepareOptions(valid=1, test=1, max_words=10, force=True))
    assert [len(again.split(name)) for name in ("train", "valid", "test")] == [8, 1, 1]


def test_a_source_that_is_not_bundled_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_source(monkeypatch, needs_path=True)
    with pytest.raises(
        InputError,
        match="'medline' is not bundled; pass --from PATH: seq2set data prepare medline --from PATH",
    ):
        open_corpus("medline")


def test_an_unknown_source_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="corpus 'medlin' is not known, did you mean 'medline'"):
        prepare_source("medlin")


def test_the_names_in_the_cache_stay(tmp_path: Path) -> None:
    # They change with `READING_VERSION` alone: a corpus that lies in a user's cache is not prepared again.
    table, folder = tmp_path / "old.csv", tmp_path / "aapd"
    table.write_text("id,text,labels\n" + "".join(f"{i},text {i},a;b\n" for i in range(20)))
    folder.mkdir()
    for kind in ("text", "label"):
        for split in ("train", "val", "test"):
            (folder / f"{kind}_{split}").write_text(f"{kind} x\n" * 4)
    named = [
        open_corpus(str(table)),
        open_corpus(str(table), ReadOptions(split="auto", keep_missing=True)),
        open_corpus(str(table), options=PrepareOptions("stratified", 2, 3, 7)),
        open_corpus(str(folder)),
    ]
    assert [corpus.folder.name for corpus in named] == [
        "old-c6c0202a0dfa9d7d",
        "old-389831823a237c3c",
        "old-8319a51bac487784",
        "aapd-444c006c7e8e5e58",
    ]
    assert named[0].fingerprint == "476d0f1119c53841"


def test_a_folder_of_tables_is_a_corpus(tmp_path: Path) -> None:
    for number in range(3):
        rows = "".join(f"text {number}-{row},a;b\n" for row in range(4))
        (tmp_path / f"part-{number}.csv").write_text("text,labels\n" + rows)
    corpus = open_corpus(str(tmp_path))
    ids = [document.id for _, document in corpus.iter_documents()]
    assert sorted(ids, key=int) == [str(number) for number in range(1, 13)]
    assert corpus.location is not None
    assert corpus.location.path == str(tmp_path)


def test_a_split_method_that_is_none_and_files_for_a_known_corpus_are_refused(table: Path) -> None:
    with pytest.raises(UnknownNameError, match="split method 'half' is not known"):
        open_corpus(str(table), options=PrepareOptions("half"))
    with pytest.raises(
        InputError, match="medline has splits of its own; 'v.csv' must be a number of documents"
    ):
        prepare_source("medline", options=PrepareOptions(valid="v.csv"))


def test_a_split_column_with_an_empty_value_is_not_used(table: Path) -> None:
    table.write_text("text,labels,set\na,x,train\n" + "b,x,\n" * 20)
    corpus = open_corpus(str(table), ReadOptions(split="auto"))
    sentence = "the column 'set' is not used: it holds an empty value, which is none of train, valid, test"
    assert corpus.remarks == [sentence]


@pytest.mark.parametrize("first", ["with.csv", "without.csv"])
def test_a_split_column_that_some_files_lack_is_not_used(first: str, tmp_path: Path) -> None:
    for name, head, end in (("with.csv", "text,labels,split", ",test"), ("without.csv", "text,labels", "")):
        lines = (f"{name} {number},l{number % 2}{end}\n" for number in range(20))
        (tmp_path / name).write_text(f"{head}\n{''.join(lines)}")
    other = ({"with.csv", "without.csv"} - {first}).pop()
    corpus = open_corpus(f"{tmp_path / first},{tmp_path / other}", ReadOptions(split="auto"))
    assert corpus.remarks == ["the column 'split' is not used: without.csv has no such column"]
