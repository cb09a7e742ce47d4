from __future__ import annotations

import gzip
import lzma
import re
from pathlib import Path

import pytest

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import read_documents
from seq2set.corpora.readers.aapd import is_aapd, list_aapd_files, read_aapd
from seq2set.corpora.readers.options import ReadOptions


def folder_with(path: Path, **files: str) -> Path:
    for name, text in files.items():
        (path / name).write_text(text, encoding="utf-8")
    return path


def test_all_splits_are_read(tmp_path: Path) -> None:
    folder_with(tmp_path, text_train="a b\nc\n", label_train="x y x\n\n")
    (tmp_path / "text_val.gz").write_bytes(gzip.compress(b"d\n"))
    (tmp_path / "label_val.xz").write_bytes(lzma.compress(b"\ty  z\n"))
    folder_with(tmp_path, text_test="e", label_test="x")
    assert is_aapd(tmp_path)
    assert list(read_documents(tmp_path)) == [
        Document("train-1", "a b", ("x", "y"), "train"),
        Document("train-2", "c", (), "train"),
        Document("valid-1", "d", ("y", "z"), "valid"),
        Document("test-1", "e", ("x",), "test"),
    ]


def test_validation_may_be_called_valid_and_test_may_be_absent(tmp_path: Path) -> None:
    folder_with(tmp_path, text_train="a", label_train="x", text_valid="b\0c", label_valid="y")
    assert [file.split for file in list_aapd_files(tmp_path)] == ["train", "valid"]
    assert list(read_aapd(tmp_path))[1] == Document("valid-1", "b c", ("y",), "valid")


def test_the_encoding_is_taken(tmp_path: Path) -> None:
    folder_with(tmp_path, label_train="x")
    (tmp_path / "text_train").write_bytes("é".encode("latin-1"))
    assert next(read_aapd(tmp_path, ReadOptions(encoding="latin-1"))).text == "é"
    with pytest.raises(CorpusError, match="text_train, line 1: the line is not valid utf-8; pass --encoding"):
        next(read_aapd(tmp_path))


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("a\nb\nc\nd\n", "x\n", "text_train has 4 lines and label_train has 1; they must have as many"),
        ("a\n", "x\ny\n", "text_train has 1 lines and label_train has 2; they must have as many"),
    ],
)
def test_files_of_different_lengths_are_refused(
    tmp_path: Path, texts: str, labels: str, message: str
) -> None:
    folder_with(tmp_path, text_train=texts, label_train=labels)
    with pytest.raises(CorpusError, match=re.escape(f"{tmp_path}: {message}")):
        list(read_aapd(tmp_path))


def test_a_missing_half_is_named(tmp_path: Path) -> None:
    folder_with(tmp_path, text_train="a", label_train="x", text_val="b")
    with pytest.raises(CorpusError, match=r"the folder has no file label_val \(plain, .gz, .xz or .zst\)"):
        list(read_aapd(tmp_path))
    (tmp_path / "text_val").rename(tmp_path / "label_test")
    with pytest.raises(CorpusError, match="the folder has no file text_test"):
        list(read_aapd(tmp_path))


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="the folder has no file text_train"):
        list(read_aapd(tmp_path))
    with pytest.raises(
        CorpusError,
        match="the folder has no text_train; it must be a file, or a folder of files or in the AAPD layout",
    ):
        list(read_documents(tmp_path))
