"""How a file is read: the columns that are named, and which of those that are there they mean."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from seq2set.core.errors import CorpusError, InputError, suggest
from seq2set.corpora.readers.cells.columns import PathWatch, find_root, has_column, match_columns, split_names
from seq2set.corpora.readers.cells.label_cells import LabelTally

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

    Names may be several, or paths (see `cells.columns`). A column named `id` may be absent, and `id` empty:
    documents are then numbered from 1. `separator` stands for `;` where none is named, `delimiter` for the
    one that the header suggests. `label_columns` are columns of zeros and ones that are each called after a
    label. `group` and `split` are read only where they are named, and no labels are read where `labels` is
    None: texts to predict have none. Words such as `NaN` and `None` instead of labels are no labels
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
        if self.delimiter in ('"', "\r", "\n"):
            raise InputError("delimiter is a quotation mark or a line end; these have a meaning of their own")


def build_read_options(data: DataSettings) -> ReadOptions:
    """Return how a plain file is read, as the settings say."""
    named = data.model_dump(exclude={"corpus", "valid", "test"})
    named |= {name: named[name] or None for name in ("group", "split", "delimiter", "sheet")}
    return ReadOptions(**named | {"separator": None if data.separator == AUTO else data.separator})


DEFAULT_OPTIONS = ReadOptions()
"""What is read where nothing else is asked for."""

_SHOWN_COLUMNS = 20
_LONGEST_NAME = 5
"""Words of a column's name; more of them are a text"""


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
