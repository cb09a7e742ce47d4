"""Where the readers find what in a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from seq2set.corpora.readers.label_tally import LabelTally
from seq2set.errors import InputError

DEFAULT_ID = "id"
DEFAULT_SEPARATOR = ";"

AUTO = "auto"
"""Stands for a split column that is looked for: named `split` or `subset`, with names of splits only."""


@dataclass(frozen=True)
class ReadOptions:
    """The names of the columns, what separates labels written as one text, and the encoding.

    A column named `id` may be absent: documents are then numbered from 1. `separator` stands for `;`
    when it is not given. `group` and `split` are read only where they are named, and no labels are read
    where `labels` is None: texts to predict have none. Words such as `NaN` and `None` in the place of labels
    are no labels unless `keep_missing` is set; `tally` is told of them, and of lists that are hard to read.
    """

    text: str = "text"
    labels: str | None = "labels"
    id: str = DEFAULT_ID
    group: str | None = None
    split: str | None = None
    separator: str | None = None
    encoding: str = "utf-8"
    keep_missing: bool = False
    tally: LabelTally | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.separator == "":
            raise InputError("separator is ''; it must hold at least one character")


DEFAULT_OPTIONS = ReadOptions()
"""What is read where nothing else is asked for."""
