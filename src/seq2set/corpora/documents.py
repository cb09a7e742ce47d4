"""One document, as every reader yields it and every consumer takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Document(NamedTuple):
    """A text with its labels; `split` and `group` where the source names them."""

    id: str
    text: str
    labels: tuple[str, ...]
    split: str | None = None
    group: str | None = None
    columns: Mapping[str, object] | None = None
    """All values of its row, by column, where they are asked for"""


SPLITS = ("train", "valid", "test")
"""The names of the three parts of a corpus, in the order in which they are read and written."""
