from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from seq2set.corpora import cache
from seq2set.corpora.cache import clean_cache, list_cached, locate_cached
from seq2set.corpora.open_corpus import open_corpus


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(path: Path, version: int) -> Path:
    rows = "".join(f"wheat {n} of {version},grain\n" for n in range(20))
    path.write_text("text,labels\n" + rows, encoding="utf-8")
    return path


def age(folder: Path, seconds: float) -> None:
    os.utime(folder, (time.time() - seconds,) * 2)


def test_the_newest_copies_of_a_file_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    other = open_corpus(str(write(tmp_path / "mine-too.csv", 0))).folder
    made = [open_corpus(str(write(file, version))).folder for version in range(8)]
    assert all(folder.is_dir() for folder in made)  # all were in use just now
    for version, folder in enumerate(made):
        age(folder, cache.IN_USE * (10 - version))
    age(other, cache.IN_USE * 20)
    # The oldest is opened again, so that it is now among the newest five.
    assert open_corpus(str(write(file, 0))).folder == made[0]
    assert [folder.is_dir() for folder in made] == [True, False, False, False, True, True, True, True]
    assert other.is_dir()  # its name begins with the same words


def test_copies_are_told_from_corpora_that_cannot_be_made_again(tmp_path: Path, own_cache: Path) -> None:
    assert list_cached() == []
    copy = open_corpus(str(write(tmp_path / "mine.csv", 1))).folder
    kept = locate_cached("medline")
    kept.mkdir()
    (kept / "corpus.json").write_bytes(b"x" * 70)
    left = locate_cached(".mine-0123456789abcdef.half")
    left.mkdir()
    (own_cache / "stray").write_bytes(b"xyz")
    (own_cache / "encoders" / "tiny").mkdir(
        parents=True
    )  # models that stand on it could not be opened without
    (own_cache / "vectors" / "0123456789abcdef").mkdir(parents=True)
    found = {one.name: (one.is_copy, one.bytes) for one in list_cached()}
    assert found.pop(copy.name)[0]
    assert found == {
        "medline": (False, 70),
        left.name: (True, 0),
        "stray": (True, 3),
        "tiny": (False, 0),
        "0123456789abcdef": (True, 0),
    }
    assert {one.name for one in clean_cache()} == {copy.name, left.name, "stray", "0123456789abcdef"}
    assert [one.name for one in list_cached()] == ["medline", "tiny"]
    assert [one.name for one in clean_cache(everything=True)] == ["medline", "tiny"]
    assert list_cached() == []
