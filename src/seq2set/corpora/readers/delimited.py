"""CSV and TSV: a header, then one document per row; quoted fields may hold line ends."""

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


class _DelimitedRow(NamedTuple):
    cells: list[str]
    line: int


def read_csv(path: Path, options: ReadOptions) -> Iterator[Document]:
    """Yield the documents of a CSV file one by one."""
    return _read_documents(path, options, ",")


def read_tsv(path: Path, options: ReadOptions) -> Iterator[Document]:
    """Yield the documents of a TSV file one by one."""
    return _read_documents(path, options, "\t")


def read_csv_header(path: Path, encoding: str) -> list[str]:
    """Return the column names of a CSV file."""
    return _read_header(_read_rows(path, encoding, ","))


def read_tsv_header(path: Path, encoding: str) -> list[str]:
    """Return the column names of a TSV file."""
    return _read_header(_read_rows(path, encoding, "\t"))


def _read_header(rows: Iterator[_DelimitedRow]) -> list[str]:
    return [name.strip() for name in next(rows, _DelimitedRow([], 1)).cells]


def _read_documents(path: Path, options: ReadOptions, delimiter: str) -> Iterator[Document]:
    rows = _read_rows(path, options.encoding, delimiter)
    header = _read_header(rows)
    check_columns(header, options, path)
    _check_unique(header, path)
    for number, row in enumerate(rows, start=1):
        if len(row.cells) != len(header):
            raise CorpusError(
                f"the row has {len(row.cells)} cells; the header has {len(header)}", path, row.line
            )
        record = Record(dict(zip(header, row.cells, strict=True)), number, row.line)
        yield build_document(record, options, path)


def _read_rows(path: Path, encoding: str, delimiter: str) -> Iterator[_DelimitedRow]:
    """Yield the rows that are not blank, each with the line on which it starts."""
    csv.field_size_limit(_FIELD_LIMIT)
    lines = (replace_nul(line.text) + "\n" for line in read_lines(path, encoding))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1
    try:
        for cells in reader:
            if cells:
                yield _DelimitedRow(cells, start)
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
