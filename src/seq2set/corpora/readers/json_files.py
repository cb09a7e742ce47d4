"""JSON: one object per line, blank lines skipped; or one list of objects, pretty or not, read as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seq2set.core.errors import CorpusError
from seq2set.corpora.readers.limits import LONGEST
from seq2set.corpora.readers.options import ReadOptions
from seq2set.corpora.readers.records import Record, RecordTable
from seq2set.corpora.readers.streams import read_lines, read_text

_BETWEEN = " \t\r\n,"
_WANTED = "one object per line, or one list of objects, is expected"
# Not strict: control characters inside texts are damage that can be lived with.
_DECODER = json.JSONDecoder(strict=False)


def read_json(path: Path, options: ReadOptions) -> RecordTable:
    """Return the objects of a JSON lines file, or of a file that holds one list."""
    return RecordTable(None, read_objects(path, options.encoding))


def read_objects(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the objects of a file one by one, whatever their keys are."""
    start = next(read_text(path, encoding)).lstrip()
    return _read_list(path, encoding) if start.startswith("[") else _read_lines(path, encoding)


def _read_lines(path: Path, encoding: str) -> Iterator[Record]:
    _refuse_wrapped(path, encoding)
    filled = (line for line in read_lines(path, encoding) if line.text.strip())
    for number, line in enumerate(filled, start=1):
        try:
            value = _DECODER.decode(line.text)
        except (ValueError, RecursionError) as error:
            raise _build_fault(error, path, line.number) from None
        yield Record(_check_object(value, path, line.number), number, line.number)


def _refuse_wrapped(path: Path, encoding: str) -> None:
    """Refuse a single object around the list of documents, and say where they are."""
    try:
        whole = _DECODER.decode(next(read_text(path, encoding)).strip())
    except (ValueError, RecursionError):
        return  # several lines, or more than a block
    for key, value in whole.items() if isinstance(whole, dict) else ():
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            raise CorpusError(f"the documents are in a list '{key}' inside an object; {_WANTED}", path)


def _read_list(path: Path, encoding: str) -> Iterator[Record]:
    """Decode as much as is there, and read on where an object is cut off."""
    blocks = read_text(path, encoding)
    text = next(blocks).lstrip()
    place, line, number = 1, 1, 0
    while True:
        after = place + len(text[place:]) - len(text[place:].lstrip(_BETWEEN))
        line += text.count("\n", place, after)
        place = after
        if text.startswith("]", place):
            return
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            more = "" if len(text) - place > LONGEST else _read_more(blocks, len(text) - place)
            if not more:
                raise _build_fault(error, path, line) from None
            text, place = text[place:] + more, 0
            continue
        number += 1
        yield Record(_check_object(value, path, line), number, line)
        line += text.count("\n", place, end)
        place = end


def _read_more(blocks: Iterator[str], least: int) -> str:
    """Read at least as much again, so that a long object is not decoded at each block."""
    pieces: list[str] = []
    while sum(map(len, pieces)) <= least and (block := next(blocks, "")):
        pieces.append(block)
    return "".join(pieces)


def _check_object(value: object, path: Path, line: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CorpusError(f"the line holds a JSON {type(value).__name__}; {_WANTED}", path, line)
    return value


def _build_fault(error: Exception, path: Path, line: int) -> CorpusError:
    reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or too large"
    return CorpusError(f"the line is not JSON ({reason}); {_WANTED}", path, line)
