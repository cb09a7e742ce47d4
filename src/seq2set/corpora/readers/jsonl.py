"""JSON lines: one object a line; blank lines are passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.records import ReadOptions, Record, build_document
from seq2set.corpora.readers.streams import NumberedLine, read_lines


def read_jsonl(path: Path, options: ReadOptions) -> Iterator[Document]:
    """Give the documents of a JSON lines file one by one."""
    for record in read_objects(path, options.encoding):
        yield build_document(record, options, path)


def read_objects(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Give the objects of a JSON lines file one by one, whatever their keys are."""
    filled = (line for line in read_lines(path, encoding) if line.text.strip())
    for number, line in enumerate(filled, start=1):
        yield Record(_object(line, path), number, line.number)


def _object(line: NumberedLine, path: Path) -> dict[str, Any]:
    try:
        # Not strict: control characters inside texts are damage that can be lived with.
        value = json.loads(line.text, strict=False)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or too large"
        raise CorpusError(
            f"the line is not JSON ({reason}); one object a line is wanted", path, line.number
        ) from None
    if not isinstance(value, dict):
        raise CorpusError(
            f"the line holds a JSON {type(value).__name__}; one object a line is wanted", path, line.number
        )
    return value
