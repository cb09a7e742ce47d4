"""Predictions as Parquet and as spreadsheets, in a file of their own: the libraries are slow to load."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from seq2set.core.errors import OutputError, import_extra
from seq2set.inference.prediction_files import Layout, PredictedDocument, format_cell, list_cells

ROWS_PER_SHEET = 2**20
LONGEST_CELL = 32_767
"""The limits of a spreadsheet."""


class ParquetTableWriter:
    """Parquet: columns have the types of a Parquet input, else those of the first rows."""

    def __init__(self, stream: IO[bytes], layout: Layout):
        self.stream, self.layout = stream, layout
        self.writer: Any = None

    def write(self, rows: Sequence[PredictedDocument]) -> None:
        """Add rows."""
        columns = list(zip(*(list_cells(row, self.layout) for row in rows), strict=True))
        if self.writer is None:
            self._open(columns)
        try:
            arrays = list(map(pa.array, columns, self.schema.types))
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise OutputError(
                f"a column holds values of several types, which Parquet cannot: {error}; write .jsonl instead"
            ) from error
        self.writer.write_table(pa.Table.from_arrays(arrays, schema=self.schema))

    def _open(self, columns: Sequence[Sequence[Any]]) -> None:
        known, names = self.layout.types or {}, self.layout.columns
        kept = [known.get(name) or _infer_type(values) for name, values in zip(names, columns, strict=False)]
        texts = pa.list_(pa.string())
        lists = {"labels": texts, "scores": pa.list_(pa.float64()), "marks": texts}
        predicted = [lists.get(name, pa.string()) for name in self.layout.head[len(kept) :]]
        self.schema = pa.schema(list(zip(self.layout.head, [*kept, *predicted], strict=True)))
        self.writer = pq.ParquetWriter(self.stream, self.schema, write_page_checksum=True)

    def close(self) -> str:
        """Write the end of the file; without any row there are only its columns."""
        if self.writer is None:
            self._open([()] * len(self.layout.columns))
        self.writer.close()
        return ""

    def discard(self) -> None:
        """Close the file, which has no use."""
        with suppress(OSError):
            self.close()


def _infer_type(values: Sequence[Any]) -> Any:
    try:
        kind = pa.infer_type(values)
    except pa.ArrowException:
        return pa.string()  # and values of several types are refused when they are written
    return pa.string() if pa.types.is_null(kind) else kind


class ExcelWriter:
    """A spreadsheet; what a cell cannot hold is cut, and counted."""

    def __init__(self, stream: IO[bytes], layout: Layout):
        self.cells = import_extra("openpyxl.cell.cell", "excel")
        self.stream, self.layout = stream, layout
        self.book = import_extra("openpyxl", "excel").Workbook(write_only=True)
        self.sheet = self.book.create_sheet("predictions")
        self.rows = self.cut = 0
        self._add(layout.head)

    def write(self, rows: Sequence[PredictedDocument]) -> None:
        """Add rows."""
        for row in rows:
            self._add(list_cells(row, self.layout))

    def _add(self, values: Sequence[Any]) -> None:
        self.rows += 1
        if self.rows > ROWS_PER_SHEET:
            raise OutputError(
                f"a sheet holds {ROWS_PER_SHEET:,} rows, and there are more; write .csv instead"
            )
        self.sheet.append([self._make_cell(value) for value in values])

    def _make_cell(self, value: Any) -> Any:
        if isinstance(value, int | float) or value is None:
            return value
        text = self.cells.ILLEGAL_CHARACTERS_RE.sub(" ", format_cell(value))
        self.cut += len(text) > LONGEST_CELL
        cell = self.cells.WriteOnlyCell(self.sheet, text[:LONGEST_CELL])
        cell.data_type = "s"  # a text that begins with = is a text, not a formula
        return cell

    def close(self) -> str:
        """Write the file, which was kept aside until now."""
        self.book.save(self.stream)
        if not self.cut:
            return ""
        return f"{self.cut:,} cells were cut at {LONGEST_CELL:,} characters, the most that a sheet can hold"

    def discard(self) -> None:
        """Remove what was kept aside."""
        with suppress(OSError):  # where it was removed when the file was closed
            self.book.save(BytesIO())
