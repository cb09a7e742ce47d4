"""Where the words of a text stand: a list of spans that takes eight bytes per word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seq2set.core.text_utils import Span


class Spans(Sequence[Span]):
    """Spans in the order of the text; as Python's own objects, each would take 176 bytes."""

    def __init__(self, places: ArrayLike):
        self.places: NDArray[np.int32] = np.asarray(places, np.int32).reshape(-1, 2)
        """(T, 2) the first character of each word, and the one after its last"""

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Span]:
        return map(Span, self.places[:, 0].data, self.places[:, 1].data)

    @overload
    def __getitem__(self, place: int) -> Span: ...

    @overload
    def __getitem__(self, place: slice) -> Spans: ...

    def __getitem__(self, place: int | slice) -> Span | Spans:
        found = self.places[place]
        return Spans(found) if isinstance(place, slice) else Span(*found.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as a list
