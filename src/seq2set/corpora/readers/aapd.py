"""The AAPD layout: a folder with `text_train` and `label_train`, one document per line, and so on.

Validation is `text_val` or `text_valid`; validation and test may be absent. Each file may be plain
or compressed. Labels are separated by white space. Documents are called `train-1`, `train-2`, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.cells.columns import clean_labels, replace_nul
from seq2set.corpora.readers.options import DEFAULT_OPTIONS, ReadOptions
from seq2set.corpora.readers.streams import find_file, read_lines

_ENDINGS = {"train": ("train",), "valid": ("val", "valid"), "test": ("test",)}


class SplitFiles(NamedTuple):
    """The two files of one split."""

    split: str
    texts: Path
    labels: Path


def is_aapd(folder: Path) -> bool:
    """Return whether a folder has the AAPD layout."""
    return _find(folder, "text", "train") is not None


def list_aapd_files(folder: Path) -> list[SplitFiles]:
    """List the files of a folder in the AAPD layout, in the order train, valid, test."""
    files = []
    for split in _ENDINGS:
        texts, labels = _find(folder, "text", split), _find(folder, "label", split)
        if texts and labels:
            files.append(SplitFiles(split, texts, labels))
        elif texts or labels or split == "train":
            missing = "label" if texts else "text"
            raise CorpusError(
                f"the folder has no file {missing}_{_ENDINGS[split][0]} (plain, .gz, .xz or .zst)", folder
            )
    return files


def read_aapd(folder: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield the documents of all splits one by one, each with its split."""
    for files in list_aapd_files(folder):
        yield from _read_split(files, options.encoding)


def _find(folder: Path, kind: str, split: str) -> Path | None:
    return find_file(folder, *(f"{kind}_{ending}" for ending in _ENDINGS[split]))


def _read_split(files: SplitFiles, encoding: str) -> Iterator[Document]:
    texts, labels = read_lines(files.texts, encoding), read_lines(files.labels, encoding)
    for number, (text, line) in enumerate(zip_longest(texts, labels), start=1):
        if text is None or line is None:
            more = number + sum(1 for _ in (texts if line is None else labels))
            counts = (number - 1, more) if text is None else (more, number - 1)
            raise CorpusError(
                f"{files.texts.name} has {counts[0]:,} lines and {files.labels.name} has {counts[1]:,}; "
                "they must have as many",
                files.texts.parent,
            )
        yield Document(
            f"{files.split}-{number}", replace_nul(text.text), clean_labels(line.text.split()), files.split
        )
