"""From the named values of one row, object or line to a document: the rules that all formats share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from seq2set.core.errors import CorpusError, InputError, suggest
from seq2set.core.text_utils import replace_surrogates
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.columns import (
    PathWatch,
    clean_labels,
    find_root,
    find_value,
    has_column,
    is_set,
    match_columns,
    replace_nul,
    split_names,
)
from seq2set.corpora.readers.label_cells import (
    MISSING_CELL,
    LabelTally,
    is_missing,
    looks_broken,
    parse_bare_list,
    parse_list,
)
from seq2set.corpora.readers.markup import strip_markup

if TYPE_CHECKING:
    from seq2set.config import DataSettings

DEFAULT_ID = "id"
DEFAULT_SEPARATOR = ";"

AUTO = "auto"
"""Stands for a split column or a separator that is looked for."""

_ESCAPES = {"\\t": "\t", "\\n": "\n", "tab": "\t"}


@dataclass(frozen=True)
class ReadOptions:
    """The names of the columns, what separates labels written as one text, and the encoding.

    Names may be several, or paths (see `columns`). A column named `id` may be absent, and `id` may be empty:
    documents are then numbered from 1. `separator` stands for `;` where none is named, `delimiter` for the
    one that the header suggests. `label_columns` are columns of zeros and ones that are each called after a
    label. `group` and `split` are read only where they are named, and no labels are read where `labels` is
    None: texts to predict have none. Words such as `NaN` and `None` in the place of labels are no labels
    unless `keep_missing` is set; `tally` counts them, and lists that are hard to read. With `keep_columns` a
    document has all values of its row.
    """

    text: str = "text"
    labels: str | None = "labels"
    label_columns: str = ""
    id: str = DEFAULT_ID
    group: str | None = None
    split: str | None = None
    separator: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    sheet: str | None = None
    strip_html: bool = False
    plain_quotes: bool = False
    keep_missing: bool = False
    keep_columns: bool = False
    tally: LabelTally | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.separator == "":
            raise InputError("separator is ''; it must hold at least one character")
        for name in ("separator", "delimiter"):
            value = getattr(self, name)
            object.__setattr__(self, name, _ESCAPES.get(value, value))
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise InputError(f"delimiter is '{self.delimiter}'; it must be one character, or tab")


def build_read_options(data: DataSettings) -> ReadOptions:
    """Return how a plain file is read, as the settings say."""
    return ReadOptions(
        text=data.text,
        labels=data.labels,
        label_columns=data.label_columns,
        id=data.id,
        group=data.group or None,
        split=data.split or None,
        separator=None if data.separator == AUTO else data.separator,
        delimiter=data.delimiter or None,
        encoding=data.encoding,
        sheet=data.sheet or None,
        strip_html=data.strip_html,
        plain_quotes=data.plain_quotes,
        keep_missing=data.keep_missing,
    )


DEFAULT_OPTIONS = ReadOptions()
"""What is read where nothing else is asked for."""

_SHOWN_COLUMNS = 20
_LONGEST_NAME = 5
"""Words of a column's name; more of them are a text"""


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


def _list_needed(options: ReadOptions, present: Collection[str]) -> dict[str, str]:
    """Return the columns that must be there, each with the option that names it."""
    needed = dict.fromkeys(split_names(options.text, present), "--text")
    if options.labels is not None:
        columns = find_label_columns(options, present)
        spec = [] if columns else split_names(options.labels, present)
        needed |= dict.fromkeys(columns, "--label-columns") | dict.fromkeys(spec, "--labels")
    named = {"--id": options.id, "--group": options.group, "--split-column": options.split}
    given = {
        name: option for option, name in named.items() if name and (option, name) != ("--id", DEFAULT_ID)
    }
    return given | needed


def find_label_columns(options: ReadOptions, present: Collection[str]) -> list[str]:
    """Return the columns of zeros and ones that are labels; none where labels stand in cells."""
    if options.label_columns:
        return match_columns(options.label_columns, list(present), _list_taken(options, present))
    if options.labels is None or "*" not in options.labels or options.labels in present:
        return []
    return match_columns(options.labels, list(present), _list_taken(options, present))


def _list_taken(options: ReadOptions, present: Collection[str]) -> list[str]:
    """Return the columns that hold something else than labels."""
    others = (options.id, options.group, options.split)
    return [*split_names(options.text, present), *(name for name in others if name)]


def watch_paths(options: ReadOptions) -> PathWatch:
    """Return what notices paths that lead nowhere in a whole file."""
    named = [(options.text, "--text"), (options.label_columns, "--label-columns"), (options.id, "--id")]
    named += [(options.group or "", "--group"), (options.split or "", "--split-column")]
    if options.labels and not options.label_columns:
        named.append((options.labels, "--labels"))
    return PathWatch({name: option for spec, option in named for name in split_names(spec, ())})


def check_columns(
    present: Collection[str],
    options: ReadOptions,
    path: Path,
    line: int | None = None,
    hint: str = "",
    *,
    unlabelled: bool = False,
) -> None:
    """Refuse a named column that is not there, and list those that are.

    The document may be `unlabelled`, where those before it had the column.
    """
    needed = _list_needed(options, present)
    missing = {name: option for name, option in needed.items() if not has_column(present, name)}
    if missing:
        known = list(present)
        listed = ", ".join(known[:_SHOWN_COLUMNS]) + (", ..." if len(known) > _SHOWN_COLUMNS else "")
        absent = " and no column ".join(f"'{name}'{suggest(name, known)}" for name in missing)
        advice = _advise(known, missing, hint, unlabelled)
        raise CorpusError(
            f"there is no column {absent}; the columns are: {listed or 'none'}{advice}", path, line
        )


def _advise(known: list[str], missing: Mapping[str, str], hint: str, unlabelled: bool) -> str:
    """Say what to type: another delimiter where all names stand in one column, or other columns."""
    folded = {name.casefold(): name for name in known}
    if all(name.casefold() in folded for name in missing):
        same = (f"{option} {shlex.quote(folded[name.casefold()])}" for name, option in missing.items())
        return f"; pass {' '.join(same)}"
    options = list(dict.fromkeys(missing.values()))
    if any(name.startswith("__label__") for name in known):
        return "; give a file of lines as fastText has them a name that ends in .txt"
    if any(len(name.split()) > _LONGEST_NAME for name in known):
        return "; if the first line is a document, put a line of column names above it, such as text,labels"
    signs = re.findall(r"(?<=\w)[^\w\s]+(?=\w)", known[0]) if len(known) == 1 else []
    if signs:
        return f"; pass --delimiter '{signs[0]}' if that separates them"
    if "--labels" in options:
        hint = f", or --label-columns where each label has a column of its own{hint}"
        hint += ", or write an empty list where a document has no labels" if unlabelled else ""
    return f"; pass {' and '.join(options)} with one of them{hint}" if known else ""


def choose_columns(present: Sequence[str], options: ReadOptions) -> list[str]:
    """List the columns that need to be read, without repetition."""
    if options.keep_columns:
        return list(present)
    named = [options.id, *_list_needed(options, present)]
    roots = dict.fromkeys(name if name in present else find_root(name) for name in named)
    return [name for name in roots if name in present]


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
