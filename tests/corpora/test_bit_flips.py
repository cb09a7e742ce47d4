"""A flipped bit anywhere in a prepared corpus is noticed when it is opened, or when it is read."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from seq2set.core.errors import CorpusError
from seq2set.corpora import cache
from seq2set.corpora.cache import clean_cache, compute_sha256_once, get_cache_folder, list_cached
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus, Split
from seq2set.corpora.splits import SplitPlan

PAST = 1_600_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words = random.Random(1)
    documents = [
        Document(f"d{n}", " ".join(words.choices(["alpha", "beta", "gamma"], k=9)), ("x", f"l{n % 7}"))
        for n in range(200)
    ]
    plan = SplitPlan("random", valid=20, test=20, seed=1)
    corpus = prepare(documents, tmp_path / "c", name="few", source="here", licence="none", plan=plan)
    return corpus.folder


def flip(path: Path, place: int, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    reads: list[Path] = []
    real = cache.compute_sha256
    monkeypatch.setattr(cache, "compute_sha256", lambda path: reads.append(path) or real(path))
    return reads


def test_every_flip_is_noticed_when_the_corpus_is_opened(folder: Path, tmp_path: Path) -> None:
    size = (folder / "train.parquet").stat().st_size
    draw = random.Random(2)
    for place in draw.sample(range(size), 150):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(folder, tmp_path / "copy")
        flip(tmp_path / "copy" / "train.parquet", place, draw.randrange(8))
        with pytest.raises(CorpusError, match=r"train\.parquet: "):
            PreparedCorpus.open(tmp_path / "copy")


def test_a_flip_in_a_page_after_opening_is_noticed_when_it_is_read(folder: Path) -> None:
    path = folder / "train.parquet"
    whole = path.read_bytes()
    columns = pq.read_metadata(path).row_group(0)
    accepted = 0
    expected = Split(path, "train").texts(), Split(path, "train").labels()
    draw = random.Random(3)
    for number in range(columns.num_columns):
        column = columns.column(number)
        start = column.dictionary_page_offset or column.data_page_offset
        for place in draw.sample(range(start, start + column.total_compressed_size), 30):
            path.write_bytes(whole)
            flip(path, place, draw.randrange(8))
            try:
                split = Split(path, "train")
                accepted += (split.texts(), split.labels()) != expected
            except CorpusError:
                continue
    assert accepted == 0


def test_a_file_is_read_once_until_it_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in folder.glob("*.parquet"):
        os.utime(path, (PAST, PAST))
    reads = count_reads(monkeypatch)
    PreparedCorpus.open(folder)
    PreparedCorpus.open(folder)
    assert len(reads) == 3
    os.utime(folder / "test.parquet", (PAST, PAST + 1))
    PreparedCorpus.open(folder)
    assert reads[3:] == [folder / "test.parquet"]


def test_a_file_that_changed_just_now_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = count_reads(monkeypatch)
    path = folder / "train.parquet"
    path.touch()
    compute_sha256_once(path)
    compute_sha256_once(path)
    assert len(reads) == 2


@pytest.mark.parametrize("content", ["[]", "{", '{"x": 3}'])
def test_a_damaged_note_of_checked_files_is_none(folder: Path, content: str) -> None:
    get_cache_folder().mkdir(parents=True, exist_ok=True)
    (get_cache_folder() / "checked.json").write_text(content)
    os.utime(folder / "train.parquet", (PAST, PAST))
    PreparedCorpus.open(folder)
    noted = json.loads((get_cache_folder() / "checked.json").read_text())
    assert str(folder / "train.parquet") in noted
    assert "checked.json" not in [one.name for one in list_cached()]
    clean_cache()
    assert not (get_cache_folder() / "checked.json").exists()


def test_a_cache_that_cannot_be_written_does_no_harm(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "file" / "cache"))
    os.utime(folder / "train.parquet", (PAST, PAST))
    assert len(PreparedCorpus.open(folder).split("train")) == 160


def test_a_file_that_cannot_be_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> str:
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(cache, "compute_sha256", fail)
    (folder / "train.parquet").touch()
    with pytest.raises(CorpusError, match=r"train\.parquet: the file cannot be read: Input/output error"):
        PreparedCorpus.open(folder)
