"""Excel workbooks (.xlsx): a header, then one document per row, of the first sheet or of the one named."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any

from seq2set.core.errors import CorpusError, import_extra
from seq2set.corpora.readers.cells.columns import replace_nul
from seq2set.corpora.readers.limits import check_workbook
from seq2set.corpora.readers.options import ReadOptions
from seq2set.corpora.readers.records import Record, RecordTable
from seq2set.corpora.readers.streams import check_file


def read_xlsx(path: Path, options: ReadOptions) -> RecordTable:
    """Return the rows of a sheet; numbers and dates are taken as texts."""
    names: list[str] = []
    rows = _read_rows(path, options.sheet, names)
    header = [name.strip() for name in next(rows, [])]
    while header and not header[-1]:
        header.pop()
    hint = f", or --sheet with one of: {', '.join(names)}" if len(names) > 1 else ""
    records = (
        Record(dict(zip_longest(header, cells[: len(header)], fillvalue="")), number, number + 1)
        for number, cells in enumerate(rows, start=1)
    )
    return RecordTable(header, records, hint)


def _read_rows(path: Path, sheet: str | None, names: list[str]) -> Iterator[list[str]]:
    """Yield the rows that are not blank, and fill in the sheets' names; nothing else is held in memory."""
    check_file(path)
    if path.stat().st_size == 0:
        raise CorpusError("the file is empty", path)
    openpyxl = import_extra("openpyxl", "excel")
    try:
        check_workbook(path)
        with warnings.catch_warnings():  # of parts of a workbook that hold no cells
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except PermissionError as error:
        raise CorpusError("the file cannot be read: permission is denied", path) from error
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise CorpusError(f"the file is damaged, encrypted, or no .xlsx workbook: {error}", path) from error
    names.extend(book.sheetnames)
    with closing(book):
        for row in _find_sheet(book, sheet, path).iter_rows(values_only=True):
            cells = ["" if value is None else replace_nul(str(value)) for value in row]
            if any(cells):
                yield cells


def _find_sheet(book: Any, name: str | None, path: Path) -> Any:
    names: Sequence[str] = book.sheetnames
    if name is None:
        return book[names[0]]
    if name not in names:
        raise CorpusError(f"there is no sheet '{name}'; pass --sheet with one of: {', '.join(names)}", path)
    return book[name]
