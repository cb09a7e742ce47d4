"""JSON lines: one object per line; blank lines are skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.records import ReadOptions, Record, build_document
from seq2set.corpora.readers.streams import NumberedLine, read_lines

FIRST_OBJECTS = 100
"""How many lines are looked at for their keys."""


def read_jsonl(path: Path, options: ReadOptions) -> Iterator[Document]:
    """Yield the documents of a JSON lines file one by one."""
    for record in read_objects(path, options.encoding):
        yield build_document(record, options, path)


def read_objects(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the objects of a JSON lines file one by one, whatever their keys are."""
    filled = (line for line in read_lines(path, encoding) if line.text.strip())
    for number, line in enumerate(filled, start=1):
        yield Record(_parse(line, path), number, line.number)


def read_keys(path: Path, encoding: str) -> list[str]:
    """Return the keys of the first objects, of which some may lack one."""
    first = islice(read_objects(path, encoding), FIRST_OBJECTS)
    return list(dict.fromkeys(key for record in first for key in record.values))


def _parse(line: NumberedLine, path: Path) -> dict[str, Any]:
    try:
        # Not strict: control characters inside texts are damage that can be lived with.
        value = json.loads(line.text, strict=False)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or too large"
        raise CorpusError(
            f"the line is not JSON ({reason}); one object per line is wanted", path, line.number
        ) from None
    if not isinstance(value, dict):
        raise CorpusError(
            f"the line holds a JSON {type(value).__name__}; one object per line is wanted", path, line.number
        )
    return value
