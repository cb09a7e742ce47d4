"""RCV1 as JSON lines: `doc_token` and `doc_label` hold lists of texts; other keys are passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from seq2set.corpora.document import Document
from seq2set.corpora.readers.jsonl import read_objects
from seq2set.corpora.readers.records import Record, folded, tidied
from seq2set.corpora.streams import bare_name
from seq2set.errors import CorpusError

_SUFFIXES = (".json", ".jsonl")
_SPLIT = re.compile(r"(?:.*[-_.])?(train|dev|val|valid|test)")


def is_json_lines(path: Path) -> bool:
    """Tell by its name whether a file holds JSON lines."""
    return Path(bare_name(path)).suffix.lower() in _SUFFIXES


def split_in_name(path: Path) -> str | None:
    """Return the split that the end of a file's name tells, as in `rcv1_train.json`."""
    match = _SPLIT.fullmatch(_stem(path).lower())
    if match is None:
        return None
    return "valid" if match[1] in ("dev", "val") else match[1]


def read_json_lines(path: Path, encoding: str = "utf-8") -> Iterator[Document]:
    """Give the documents of one file, called after the file and their line."""
    for record in read_objects(path, encoding):
        text = " ".join(tidied(token) for token in _strings(record, "doc_token", path))
        labels = folded(_strings(record, "doc_label", path))
        yield Document(f"{_stem(path)}-{record.line}", text, labels, split_in_name(path))


def _stem(path: Path) -> str:
    return Path(bare_name(path)).stem


def _strings(record: Record, key: str, path: Path) -> list[str]:
    value = record.values.get(key)
    if isinstance(value, list):
        wrong = next((item for item in value if not isinstance(item, str)), None)
        if wrong is None and None not in value:
            return value
        seen = f"holds a list with {type(wrong).__name__} in it"
    else:
        seen = f"holds {type(value).__name__}" if key in record.values else "is absent"
    raise CorpusError(f"'{key}' {seen}; it must hold a list of texts", path, record.line)
