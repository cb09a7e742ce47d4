"""One document, as every reader yields it and every consumer takes it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:  # the help of commands names formats, and loads no numpy
    import numpy as np
    from numpy.typing import NDArray

Value = TypeVar("Value")


class Document(NamedTuple):
    """A text with its labels; `split` and `group` where the source names them."""

    id: str
    text: str
    labels: tuple[str, ...]
    split: str | None = None
    group: str | None = None
    columns: Mapping[str, object] | None = None
    """All values of its row, by column, where they are asked for"""


class ColumnView(Sequence[Value]):
    """One value of each document, kept elsewhere than in memory, from which some can be picked."""

    @abstractmethod
    def pick(self, places: NDArray[np.intp]) -> Sequence[Value]:
        """Return the values at some places."""


SPLITS = ("train", "valid", "test")
"""The names of the three parts of a corpus, in the order in which they are read and written."""
