"""CSV and TSV: a header, then one document per row; quoted fields may hold line ends.

The delimiter is the one that was named, the one on a first line such as `sep=;` (Excel's own), or the one of
comma, semicolon, tab and bar at which the header falls apart best.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Literal

from seq2set.core.errors import CorpusError
from seq2set.core.text_utils import count_things
from seq2set.corpora.readers.cells.columns import has_column, replace_nul, split_names
from seq2set.corpora.readers.limits import LONGEST, refuse_long
from seq2set.corpora.readers.options import ReadOptions
from seq2set.corpora.readers.records import Record, RecordTable
from seq2set.corpora.readers.streams import NumberedLine, read_lines

DELIMITERS = (",", ";", "\t", "|")
"""The delimiters that are looked for in a header."""

MOST_COLUMNS = 10_000

_SOME_LINES, _SOME_CHARACTERS = 20, 1 << 16
"""How much is looked at for blanks before quotation marks."""

_BEFORE_QUOTE = re.compile(r' +"')
_SEPARATOR_LINE = re.compile(r'"?sep=([^"])"?', re.IGNORECASE)


def read_csv(path: Path, options: ReadOptions) -> RecordTable:
    """Return the rows of a CSV file."""
    return _read(path, options, ",")


def read_tsv(path: Path, options: ReadOptions) -> RecordTable:
    """Return the rows of a TSV file."""
    return _read(path, options, "\t")


def read_delimiter(path: Path, options: ReadOptions) -> str:
    """Return what stands between the cells of a CSV file."""
    _, delimiter = _read_header(read_lines(path, options.encoding), options, ",")
    return delimiter


def _read_header(lines: Iterator[NumberedLine], options: ReadOptions, usual: str) -> tuple[NumberedLine, str]:
    """Return the line of the header, and the delimiter."""
    first = next(lines)
    told = _SEPARATOR_LINE.fullmatch(first.text)
    if told:
        first = next(lines, NumberedLine(2, ""))
    found = told[1] if told else find_delimiter(first.text, options, usual)
    return first, options.delimiter or found


def _read(path: Path, options: ReadOptions, usual: str) -> RecordTable:
    lines = read_lines(path, options.encoding)
    first, delimiter = _read_header(lines, options, usual)
    _refuse_wide(_count_cells(first.text, delimiter), path)
    # Only the first lines, fewer where they are long.
    some, held = [first], len(first.text)
    while len(some) < _SOME_LINES and held < _SOME_CHARACTERS and (line := next(lines, None)):
        some.append(line)
        held += len(line.text)
    spaced = not options.plain_quotes and _has_blanks_before_quotes(some, delimiter)
    rows = _read_rows(chain(some, lines), delimiter, path, options, spaced=spaced)
    names, _ = next(rows, ([], 1))
    header = [name.strip() for name in names]
    _refuse_wide(len(header), path)
    twice = next((name for name, count in Counter(header).items() if name and count > 1), None)
    if twice is not None:
        raise CorpusError(f"the header names the column '{twice}' twice; names must differ", path, 1)
    return RecordTable(header, _read_records(rows, header, path, delimiter))


def _has_blanks_before_quotes(lines: Sequence[NumberedLine], delimiter: str) -> bool:
    """Return whether cells are written as in `"a", "b"`, where the blank belongs to no cell."""
    with suppress(csv.Error):  # such as a row that goes on behind these lines
        for cells in csv.reader((replace_nul(line.text) + "\n" for line in lines), delimiter=delimiter):
            if any(_BEFORE_QUOTE.match(cell) for cell in cells):
                return True
    return False


def find_delimiter(header: str, options: ReadOptions, usual: str) -> str:
    """Return the delimiter of a header: one that brings out the text's column, or most columns."""
    order = (usual, *(sign for sign in DELIMITERS if sign != usual))
    counts = {sign: _count_cells(header, sign) for sign in order}
    for sign in (sign for sign in order if counts[sign] <= MOST_COLUMNS):
        cells = _split(header, sign)
        if any(has_column(cells, name) for name in split_names(options.text, cells)):
            return sign
        counts[sign] = len(cells)
    return max(order, key=lambda sign: counts[sign])


def _count_cells(header: str, delimiter: str) -> int:
    """Count the cells of a header, which as texts take ten times its memory; what is in quotes is one."""
    return 1 + sum(part.count(delimiter) for part in header.split('"')[::2])


def _split(header: str, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _read_records(
    rows: Iterator[tuple[list[str], int]], header: list[str], path: Path, delimiter: str
) -> Iterator[Record]:
    for number, (cells, line) in enumerate(rows, start=1):
        # Some programs end each row, but not the header, with a delimiter.
        if len(cells) > len(header) and not any(cells[len(header) :]):
            cells = cells[: len(header)]
        if len(cells) != len(header):
            count = count_things(len(cells), "cell")
            advice = _advise(len(cells), len(header), delimiter)
            raise CorpusError(f"the row has {count}; the header has {len(header)}; {advice}", path, line)
        yield Record(dict(zip(header, cells, strict=True)), number, line)


def _advise(cells: int, names: int, delimiter: str) -> str:
    """Say how a row that does not fit is put right."""
    sign = "a tab" if delimiter == "\t" else f"'{delimiter}'"
    if names == 1 and cells > 1:
        return "if the names of the columns stand further down, delete the lines above them"
    if cells > names:
        return f"put a cell that holds {sign} in quotation marks"
    return f"write {sign} for each cell that is empty"


def _read_rows(
    lines: Iterator[NumberedLine], delimiter: str, path: Path, options: ReadOptions, *, spaced: bool
) -> Iterator[tuple[list[str], int]]:
    """Yield the rows that are not blank, each with the line on which it starts."""
    csv.field_size_limit(2 * LONGEST)  # its own are 128 KiB
    last = held = 0

    def pass_on() -> Iterator[str]:
        nonlocal last, held
        for line in lines:
            last = line.number
            held += len(line.text)
            refuse_long(held, path, start + 1)
            yield replace_nul(line.text) + "\n"

    start = 0
    quoting: Literal[0, 3] = csv.QUOTE_NONE if options.plain_quotes else csv.QUOTE_MINIMAL
    try:
        reader = csv.reader(
            pass_on(), delimiter=delimiter, quoting=quoting, skipinitialspace=spaced, strict=True
        )
        for cells in reader:
            held = 0
            if cells:
                yield cells, start + 1
            start = last
    except csv.Error as error:
        raise CorpusError(
            f"the row cannot be read ({error}); a cell that starts with a quotation mark must end with one, "
            "and those inside it must be doubled; pass --plain-quotes where they are letters like any other",
            path,
            start + 1,
        ) from None


def _refuse_wide(columns: int, path: Path) -> None:
    if columns > MOST_COLUMNS:
        raise CorpusError(f"the header has {columns:,} columns; at most {MOST_COLUMNS:,} are read", path, 1)
