"""Predictions as files: what stood in the input's columns, then labels, scores and notes; one row per format.

JSON lines hold labels as `predict --json` prints them. In tables `labels` and `scores` are columns: lists in
Parquet, else texts with `;` between the labels, or JSON where a label holds one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from seq2set.core.errors import InputError
from seq2set.core.names import find_named, load_named
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.options import DEFAULT_SEPARATOR
from seq2set.inference.engines.blocks import TextPrediction
from seq2set.inference.predictor import Prediction

PREDICTED = ("labels", "scores", "note", "marks", "evidence")
"""The columns of a prediction; input columns of these names come back as `input_labels` and so on."""


class PredictedDocument(NamedTuple):
    """A document and what the model says of it."""

    document: Document
    prediction: TextPrediction

    def to_dict(self, *, explain: bool) -> dict[str, Any]:
        """Return it as `predict --json` prints it."""
        suggestions, note = self.prediction
        return Prediction(self.document.id, "", suggestions, note).to_dict(explain=explain)


class Layout(NamedTuple):
    """What the rows of a file hold: input columns with their types, where it has some, and the prediction."""

    columns: Sequence[str] = ()
    explain: bool = False
    types: Mapping[str, Any] | None = None
    marks: bool = False
    """Whether the model says which labels may be accepted without a look"""
    delimiter: str = ","
    """What stands between the cells of a CSV file"""

    @property
    def head(self) -> list[str]:
        """The names of a table's columns."""
        left_out = {"marks": not self.marks, "evidence": not self.explain}
        predicted = (name for name in PREDICTED if not left_out.get(name))
        return [*map(rename_column, self.columns), *predicted]


def rename_column(name: str) -> str:
    """Return the name under which an input column comes back."""
    return f"input_{name}" if name in PREDICTED else name


class RowWriter(Protocol):
    """Writes rows to a stream in one format."""

    def write(self, rows: Sequence[PredictedDocument]) -> None:
        """Add rows."""

    def close(self) -> str:
        """Write what is left, and return what the user should know of the file."""

    def discard(self) -> None:
        """Let go of the stream, whatever is left to write."""


class OutputFormat(NamedTuple):
    """A format, known by the suffixes of its files."""

    title: str
    suffixes: tuple[str, ...]
    open: str
    """Takes a binary stream and a `Layout`, and returns a `RowWriter`"""
    streams: bool = True
    """Whether it can be written to standard output"""


_TABLES = "seq2set.inference.prediction_tables"

OUTPUTS = {
    "csv": OutputFormat("CSV", (".csv",), f"{__name__}:DelimitedWriter"),
    "tsv": OutputFormat("TSV", (".tsv",), f"{__name__}:TabbedWriter"),
    "jsonl": OutputFormat("JSON lines", (".jsonl", ".ndjson"), f"{__name__}:JsonWriter"),
    "parquet": OutputFormat("Parquet", (".parquet",), f"{_TABLES}:ParquetTableWriter", streams=False),
    "xlsx": OutputFormat("Excel", (".xlsx",), f"{_TABLES}:ExcelWriter", streams=False),
}
"""The formats that predictions can be written in, by name."""


def choose_output(path: Path) -> str:
    """Return the name of the format that a file's ending stands for."""
    for name, row in OUTPUTS.items():
        if path.suffix.lower() in row.suffixes:
            return name
    known = ", ".join(suffix for row in OUTPUTS.values() for suffix in row.suffixes)
    raise InputError(f"the ending of {path} stands for no format; it must be one of {known}")


@contextmanager
def open_writer(name: str, stream: IO[bytes], layout: Layout) -> Iterator[RowWriter]:
    """Give what writes rows to a stream in the format of this name; the block closes it."""
    writer: RowWriter = load_named(find_named("format", name, OUTPUTS).open)(stream, layout)
    try:
        yield writer
    except BaseException:
        writer.discard()
        raise


class JsonWriter:
    """JSON lines; an input without a column `id` gets one."""

    def __init__(self, stream: IO[bytes], layout: Layout):
        self.stream, self.explain = stream, layout.explain

    def write(self, rows: Sequence[PredictedDocument]) -> None:
        """Add rows."""
        for row in rows:
            kept = {rename_column(name): value for name, value in (row.document.columns or {}).items()}
            found = row.to_dict(explain=self.explain)
            plain = ({} if "id" in kept else {"id": found["id"]}) | kept | _drop_value(found, "id")
            line = json.dumps(plain, ensure_ascii=False, default=str)
            self.stream.write(line.encode("utf-8", "replace") + b"\n")

    def close(self) -> str:
        """Do nothing more."""
        return ""

    def discard(self) -> None:
        """Do nothing more."""


def _drop_value(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


class DelimitedWriter:
    """CSV, with the delimiter of the input."""

    def __init__(self, stream: IO[bytes], layout: Layout):
        self.layout = layout
        self.text = TextIOWrapper(stream, "utf-8", errors="replace", newline="")
        self.rows = csv.writer(self.text, delimiter=layout.delimiter, lineterminator="\n")
        self.rows.writerow(layout.head)

    def write(self, rows: Sequence[PredictedDocument]) -> None:
        """Add rows."""
        self.rows.writerows(map(format_cell, list_cells(row, self.layout)) for row in rows)

    def close(self) -> str:
        """Write what is left, and leave the stream open."""
        self.text.detach()
        return ""

    def discard(self) -> None:
        """Leave the stream open, as standard output must be."""
        with suppress(OSError, ValueError):  # such as a full disk, which was reported
            self.text.detach()


class TabbedWriter(DelimitedWriter):
    """TSV."""

    def __init__(self, stream: IO[bytes], layout: Layout):
        super().__init__(stream, layout._replace(delimiter="\t"))


def list_cells(row: PredictedDocument, layout: Layout) -> list[Any]:
    """Return the values of a row in the order of the columns; labels and scores are lists."""
    columns, (suggestions, note) = row.document.columns or {}, row.prediction
    plain = row.to_dict(explain=layout.explain)["labels"]
    predicted = [[one.label for one in suggestions], [one["score"] for one in plain], note]
    if layout.marks:
        predicted.append([one["mark"] for one in plain])
    if layout.explain:
        # Words for and against in one cell: the weights of the latter are below 0.
        reasons = [one["evidence"] + one["against"] for one in plain]
        predicted.append(json.dumps(reasons, ensure_ascii=False))
    return [*(columns.get(name) for name in layout.columns), *predicted]


def format_cell(value: Any) -> Any:
    """Return a value as a cell holds it: nothing as an empty one, lists by a separator, objects as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
        texts = [str(one) for one in value]
        if not any(DEFAULT_SEPARATOR in one or one.startswith("[") for one in texts):
            return DEFAULT_SEPARATOR.join(texts)
    return (
        json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, list | dict | bool)
        else str(value)
    )
