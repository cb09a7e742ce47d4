"""CSV and TSV: a header, then a document a row; quoted fields may hold line ends."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.records import ReadOptions, Record, build_document, check_columns, replace_nul
from seq2set.corpora.readers.streams import read_lines

# The largest limit that every platform's csv takes: texts may be far longer than its 128 KiB.
_FIELD_LIMIT = 2**31 - 1


class _Row(NamedTuple):
    cells: list[str]
    line: int


def read_delimited(path: Path, options: ReadOptions, delimiter: str) -> Iterator[Document]:
    """Give the documents of a CSV or TSV file one by one."""
    rows = _rows(path, options.encoding, delimiter)
    header = [name.strip() for name in next(rows, _Row([], 1)).cells]
    check_columns(header, options, path)
    _check_unique(header, path)
    for number, row in enumerate(rows, start=1):
        if len(row.cells) != len(header):
            raise CorpusError(
                f"the row has {len(row.cells)} cells; the header has {len(header)}", path, row.line
            )
        record = Record(dict(zip(header, row.cells, strict=True)), number, row.line)
        yield build_document(record, options, path)


def read_header(path: Path, encoding: str, delimiter: str) -> list[str]:
    """Return the names in the header."""
    return [name.strip() for name in next(_rows(path, encoding, delimiter), _Row([], 1)).cells]


def _rows(path: Path, encoding: str, delimiter: str) -> Iterator[_Row]:
    """Give the rows that are not blank, each with the line on which it starts."""
    csv.field_size_limit(_FIELD_LIMIT)
    lines = (replace_nul(line.text) + "\n" for line in read_lines(path, encoding))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1
    try:
        for cells in reader:
            if cells:
                yield _Row(cells, start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise CorpusError(
            f"the row cannot be read ({error}); a cell that starts with a quotation mark must end with one, "
            "and those inside it must be doubled",
            path,
            start,
        ) from None


def _check_unique(header: list[str], path: Path) -> None:
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise CorpusError(f"the header names the column '{twice}' twice; names must differ", path, 1)
