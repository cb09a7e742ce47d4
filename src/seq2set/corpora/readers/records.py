"""From the named values of one row, object or line to a document: the rules that all formats share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from seq2set.config import DataSettings
from seq2set.core.errors import CorpusError, InputError, suggest
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.label_cells import (
    MISSING_CELL,
    LabelTally,
    is_missing,
    looks_broken,
    parse_bare_list,
    parse_list,
)

DEFAULT_ID = "id"
DEFAULT_SEPARATOR = ";"

AUTO = "auto"
"""Stands for a split column that is looked for: named `split` or `subset`, with names of splits only."""


@dataclass(frozen=True)
class ReadOptions:
    """The names of the columns, what separates labels written as one text, and the encoding.

    A column named `id` may be absent: documents are then numbered from 1. `separator` stands for `;`
    where none is named. `group` and `split` are read only where they are named, and no labels are read
    where `labels` is None: texts to predict have none. Words such as `NaN` and `None` in the place of labels
    are no labels unless `keep_missing` is set; `tally` counts them, and lists that are hard to read.
    With `keep_columns` a document has all values of its row.
    """

    text: str = "text"
    labels: str | None = "labels"
    id: str = DEFAULT_ID
    group: str | None = None
    split: str | None = None
    separator: str | None = None
    encoding: str = "utf-8"
    keep_missing: bool = False
    keep_columns: bool = False
    tally: LabelTally | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.separator == "":
            raise InputError("separator is ''; it must hold at least one character")


def build_read_options(data: DataSettings) -> ReadOptions:
    """Return how a plain file is read, as the settings say."""
    return ReadOptions(
        text=data.text,
        labels=data.labels,
        id=data.id,
        group=data.group or None,
        split=data.split or None,
        separator=data.separator,
        encoding=data.encoding,
        keep_missing=data.keep_missing,
    )


DEFAULT_OPTIONS = ReadOptions()
"""What is read where nothing else is asked for."""


_SHOWN_COLUMNS = 20


class Record(NamedTuple):
    """Named values and where they stand: `number` counts documents, `line` counts lines, both from 1."""

    values: Mapping[str, object]
    number: int
    line: int


def build_document(record: Record, options: ReadOptions, path: Path) -> Document:
    """Build a document from a record; a text that is null is empty, labels that are null are none."""
    check_columns(record.values, options, path, record.line)
    text = record.values[options.text]
    if text is not None and not isinstance(text, str):
        raise _wrong_type(options.text, text, "a text", path, record.line)
    return Document(
        id=_read_name(record, options.id, path) or str(record.number),
        text=replace_nul(text or ""),
        labels=_read_labels(record, options, path),
        split=_read_name(record, options.split, path),
        group=_read_name(record, options.group, path),
        columns=record.values if options.keep_columns else None,
    )


def check_columns(present: Iterable[str], options: ReadOptions, path: Path, line: int | None = None) -> None:
    """Refuse a named column that is not there, and list those that are."""
    optional = () if options.id == DEFAULT_ID else (options.id,)
    for name in (options.text, options.labels, *optional, options.group, options.split):
        if name is not None and name not in present:
            known = list(present)
            listed = ", ".join(known[:_SHOWN_COLUMNS]) + (", ..." if len(known) > _SHOWN_COLUMNS else "")
            raise CorpusError(
                f"there is no column '{name}'{suggest(name, known)}; the columns are: {listed or 'none'}",
                path,
                line,
            )


def choose_columns(present: Sequence[str], options: ReadOptions) -> list[str]:
    """List the columns that need to be read, without repetition."""
    if options.keep_columns:
        return list(present)
    named = (options.id, options.text, options.labels, options.group, options.split)
    return [name for name in dict.fromkeys(named) if name is not None and name in present]


def clean_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Strip white space, drop empty labels, and keep the first of those that repeat."""
    stripped = (replace_nul(label).strip() for label in labels)
    return tuple(dict.fromkeys(label for label in stripped if label))


def replace_nul(text: str) -> str:
    """Put a space where a NUL byte stands, which later readers of the text could not take."""
    return text.replace("\0", " ")


def _read_labels(record: Record, options: ReadOptions, path: Path) -> tuple[str, ...]:
    value = None if options.labels is None else record.values[options.labels]
    if value is None:
        return ()
    allowed = "a list of texts, or one text with a separator"
    items: Sequence[object] = ()
    if isinstance(value, str):
        items = _split_cell(value, options)
    elif isinstance(value, list):
        items = value
    elif not is_missing(value):
        raise _wrong_type(str(options.labels), value, allowed, path, record.line)
    else:
        items = [value]
    present = _drop_missing(items, options)
    wrong = next((item for item in present if not isinstance(item, str)), "")
    if wrong != "":
        raise _wrong_type(str(options.labels), [wrong], allowed, path, record.line)
    return clean_labels(map(str, present))


def _split_cell(cell: str, options: ReadOptions) -> Sequence[object]:
    """Take a cell apart, and count what was hard to read."""
    tally = options.tally or LabelTally()
    if cell.strip() == MISSING_CELL and not options.keep_missing:
        tally.missing.add(cell)
        return []
    if (written := parse_list(cell)) is not None:
        # Numbers are labels where a list was written out: nothing else could be meant.
        return _as_texts(written)
    if (bare := parse_bare_list(cell)) is not None:
        tally.bare.add(cell)
        return bare
    if looks_broken(cell):
        tally.broken.add(cell)
    return cell.split(options.separator or DEFAULT_SEPARATOR)


def _as_texts(items: Sequence[object]) -> list[object]:
    return [item if is_missing(item) else str(item) for item in items]


def _drop_missing(items: Sequence[object], options: ReadOptions) -> list[object]:
    """Drop what stands for a missing value, and count it."""
    kept = []
    for item in items:
        if not is_missing(item) or (options.keep_missing and isinstance(item, str)):
            kept.append(item)
        elif options.tally is not None:
            options.tally.missing.add(item)
    if options.tally is not None and not options.keep_missing:
        options.tally.listed += any(isinstance(item, str) and item.strip() == MISSING_CELL for item in kept)
    return kept


def _read_name(record: Record, column: str | None, path: Path) -> str | None:
    value = record.values.get(column) if column is not None else None
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _wrong_type(str(column), value, "a text or a whole number", path, record.line)
    return replace_nul(str(value)).strip()


_TYPES = {bool: "true or false", int: "a whole number", float: "a number", dict: "an object", bytes: "bytes"}


def _name_type(value: object) -> str:
    if isinstance(value, list):
        return f"a list with {_name_type(value[0])} in it" if value else "a list"
    return "null" if value is None else _TYPES.get(type(value), type(value).__name__)


def _wrong_type(column: str, value: object, allowed: str, path: Path, line: int) -> CorpusError:
    return CorpusError(f"column '{column}' holds {_name_type(value)}; it must hold {allowed}", path, line)
