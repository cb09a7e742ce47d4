"""Where the readers find what in a file."""

from __future__ import annotations

from dataclasses import dataclass

from seq2set.errors import InputError

DEFAULT_ID = "id"
DEFAULT_SEPARATOR = ";"


@dataclass(frozen=True)
class ReadOptions:
    """The names of the columns, what separates labels written as one text, and the encoding.

    A column named `id` may be absent: documents are then numbered from 1. `separator` stands for `;`
    when it is not given. `group` and `split` are read only where they are named, and no labels are read
    where `labels` is None: texts to predict have none.
    """

    text: str = "text"
    labels: str | None = "labels"
    id: str = DEFAULT_ID
    group: str | None = None
    split: str | None = None
    separator: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if self.separator == "":
            raise InputError("separator is ''; it must hold at least one character")


DEFAULT_OPTIONS = ReadOptions()
"""What is read where nothing else is asked for."""
