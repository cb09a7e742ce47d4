"""From the named values of one row, object or line to a document: the rules that all formats share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.core.text_utils import replace_surrogates
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.cells.columns import clean_labels, find_value, is_set, replace_nul, split_names
from seq2set.corpora.readers.cells.label_cells import (
    MISSING_CELL,
    LabelTally,
    is_missing,
    looks_broken,
    parse_bare_list,
    parse_list,
)
from seq2set.corpora.readers.cells.markup import strip_markup
from seq2set.corpora.readers.options import DEFAULT_SEPARATOR, ReadOptions, check_columns, find_label_columns


class Record(NamedTuple):
    """Named values and where they stand: `number` counts documents, `line` counts lines, both from 1."""

    values: Mapping[str, object]
    number: int
    line: int


class RecordTable(NamedTuple):
    """What a file holds; `columns` is None where each record has keys of its own."""

    columns: list[str] | None
    records: Iterator[Record]
    hint: str = ""
    """Where else a column may be that is not among them"""


def build_document(record: Record, options: ReadOptions, path: Path) -> Document:
    """Build a document from a record; a text that is null is empty, labels that are null are none."""
    check_columns(record.values, options, path, record.line, unlabelled=record.number > 1)
    text = replace_surrogates(" ".join(filter(None, _read_texts(record, options, path))))
    name = _read_name(record, options.id)
    if options.tally:
        options.tally.count_id(name)
    return Document(
        id=name or str(record.number),
        text=strip_markup(text) if options.strip_html else text,
        labels=_read_labels(record, options, path),
        split=_read_name(record, options.split),
        group=_read_name(record, options.group),
        columns=record.values if options.keep_columns else None,
    )


def _read_texts(record: Record, options: ReadOptions, path: Path) -> Iterator[str]:
    for name in split_names(options.text, record.values):
        value = find_value(record.values, name)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = " ".join(value)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if value is not None and not isinstance(value, str):
            raise _build_type_error("--text", name, value, "a text", path, record.line)
        yield replace_nul(value or "")


def _read_labels(record: Record, options: ReadOptions, path: Path) -> tuple[str, ...]:
    if options.labels is None:
        return ()
    if columns := find_label_columns(options, record.values):
        return clean_labels(name for name in columns if _is_label_set(record, name, path))
    found: list[object] = []
    for name in split_names(options.labels, record.values):
        value = find_value(record.values, name)
        if value is None:
            continue
        items = _split_cell(value, options) if isinstance(value, str) else _flatten(value)
        present = _drop_missing(items, options)
        wrong = next((item for item in present if isinstance(item, bool | dict | bytes)), None)
        if wrong is not None:
            allowed = "a list of texts, or one text with a separator"
            raise _build_type_error("--labels", name, value, allowed, path, record.line)
        found.extend(present)
    return clean_labels(map(write_number, found))


def _is_label_set(record: Record, name: str, path: Path) -> bool:
    value = find_value(record.values, name)
    known = is_set(value)
    if known is None:
        raise CorpusError(
            f"column '{name}' holds '{str(value)[:40]}'; a column that stands for a label must hold 0 or 1 "
            "(columns that hold labels are named one by one: --labels a,b,c)",
            path,
            record.line,
        )
    return known


def _flatten(value: object) -> list[object]:
    """Return the items of a list, at whatever depth; a single value is a list of one."""
    if not isinstance(value, list):
        return [value]
    return [item for part in value for item in _flatten(part)]


def write_number(value: object) -> str:
    """Return a value as text; whole numbers have no decimal point, whatever their type."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _split_cell(cell: str, options: ReadOptions) -> Sequence[object]:
    """Take a cell apart, and count what was hard to read."""
    tally = options.tally or LabelTally()
    if cell.strip() == MISSING_CELL and not options.keep_missing:
        tally.missing.add(cell)
        return []
    if (written := parse_list(cell)) is not None:
        # Numbers are labels where a list was written out: nothing else could be meant.
        return [item if is_missing(item) else write_number(item) for item in written]
    if (bare := parse_bare_list(cell)) is not None:
        tally.bare.add(cell)
        return bare
    if looks_broken(cell):
        tally.broken.add(cell)
    return cell.split(options.separator or DEFAULT_SEPARATOR)


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


def _read_name(record: Record, column: str | None) -> str | None:
    value = find_value(record.values, column) if column else None
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    return replace_nul(write_number(value)).strip()


_TYPES = {bool: "true or false", int: "a whole number", float: "a number", dict: "an object", bytes: "bytes"}


def _name_type(value: object) -> str:
    if isinstance(value, list):
        return f"a list with {_name_type(value[0])} in it" if value else "a list"
    return "null" if value is None else _TYPES.get(type(value), type(value).__name__)


def _build_type_error(
    option: str, column: str, value: Any, allowed: str, path: Path, line: int
) -> CorpusError:
    """Say what a column holds, and where it holds objects, how one of their keys is named."""
    inner = value[0] if isinstance(value, list) and value else value
    hint = ""
    if isinstance(inner, dict) and inner:
        dots = "[]." if isinstance(value, list) else "."
        hint = f"; pass {option} '{column}{dots}KEY' with one of its keys: {', '.join(list(inner)[:10])}"
        if (
            option == "--labels"
            and inner is value
            and all(is_set(item) is not None for item in inner.values())
        ):
            keys = ",".join(f"{column}.{key}" for key in list(inner)[:10])
            hint = f"; where its keys are labels and its values 0 or 1, pass --label-columns '{keys}'"
        if all(key.isdigit() for key in inner):
            hint = "; write one object per document, in pandas with to_json(orient='records', lines=True)"
    return CorpusError(
        f"column '{column}' holds {_name_type(value)}; it must hold {allowed}{hint}", path, line
    )
