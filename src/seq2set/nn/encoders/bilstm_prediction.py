"""The bidirectional LSTM as prediction runs it on a CPU: the numbers of `BiLSTM`'s own route, in less memory.

There is no backward pass to keep anything for. So a layer is read some words at a time, and what it makes of
them is written to its place at once: beside the states themselves, there is only what these words need. All
documents are read together as before, so that not a bit is different.

Letters: B documents, T words, E numbers per word vector, H hidden units per direction, n rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seq2set.nn.encoders import Encoded

WORDS_AT_A_TIME = 1 << 11
"""How many words of all documents are read at a time."""

Lookup = Callable[[Tensor], Tensor]
"""Returns vectors (n, E) for places (n,) among the words of all documents, B * T of them"""


class Segment(NamedTuple):
    """Words that the same documents, longest first, read together."""

    words: int
    live: int


class ReadingOrder(NamedTuple):
    """Which documents are read when."""

    documents: Tensor
    """(B,) the longest first"""
    segments: list[Segment]


def read_documents(
    lstm: nn.LSTM, embedding: nn.Embedding, tokens: Tensor, lengths: Tensor, order: ReadingOrder
) -> Encoded:
    """Encode (B, T) word numbers of documents of `lengths` (B,) words."""
    (batch, width), numbers = tokens.shape, tokens.flatten()
    stretches = list(_cut_stretches(order.segments))
    mask = torch.arange(width) < lengths[:, None]  # (B, T)

    def look_up_words(places: Tensor) -> Tensor:
        vectors: Tensor = embedding(numbers[places])
        return vectors

    look_up: Lookup = look_up_words
    for layer in range(lstm.num_layers):
        states = embedding.weight.new_empty(batch * width, 2 * lstm.hidden_size)
        ahead, back = states.chunk(2, 1)
        _read_one_way(_Pass(lstm, f"l{layer}", order.documents, None), look_up, stretches, width, ahead)
        _read_one_way(
            _Pass(lstm, f"l{layer}_reverse", order.documents, lengths), look_up, stretches, width, back
        )
        look_up = states.__getitem__
    states = states.view(batch, width, -1)
    last = states[torch.arange(batch), lengths - 1]  # (B, 2H)
    # The two last states: forward at the last word, backward at the first.
    summary = torch.cat([last[:, : lstm.hidden_size], states[:, 0, lstm.hidden_size :]], -1)
    return Encoded(states.masked_fill_(~mask[..., None], 0.0), mask, summary)


class _Stretch(NamedTuple):
    """Some words of a segment."""

    start: int
    end: int
    live: int


class _Pass(NamedTuple):
    """One direction of a layer."""

    lstm: nn.LSTM
    name: str
    order: Tensor
    """(B,) the documents, longest first"""
    lengths: Tensor | None
    """(B,) within which documents are flipped, if they are"""

    @property
    def weights(self) -> list[Tensor]:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self.lstm, f"{one}_{self.name}") for one in names]

    def list_places(self, part: _Stretch, width: int) -> Tensor:
        """Return which words are read, in the order of reading, among those of all documents (n,)."""
        documents, place = self.order[: part.live], torch.arange(part.start, part.end)[:, None]
        if self.lengths is not None:
            ends = self.lengths[documents]
            place = torch.where(place < ends, ends - 1 - place, place)
        return (documents * width + place).flatten()


def _cut_stretches(segments: Iterable[Segment]) -> Iterator[_Stretch]:
    """Cut segments that have many words evenly: products of very few rows would round otherwise."""
    start = 0
    for words, live in segments:
        count = min(words, -(-words * live // WORDS_AT_A_TIME))
        for number in range(count):
            yield _Stretch(start + words * number // count, start + words * (number + 1) // count, live)
        start += words


def _read_one_way(way: _Pass, look_up: Lookup, stretches: list[_Stretch], width: int, states: Tensor) -> None:
    """Write the states (B * T, H) of a direction."""
    weights = way.weights
    hidden = cell = states.new_zeros(1, len(way.order), way.lstm.hidden_size)
    for part in stretches:
        places = way.list_places(part, width)
        vectors = look_up(places).view(part.end - part.start, part.live, -1)
        first = (hidden[:, : part.live].contiguous(), cell[:, : part.live].contiguous())
        # After the weights: biases, layers, dropout, keep what backward needs, both ways, batch first.
        found, hidden, cell = torch.lstm(vectors, first, weights, True, 1, 0.0, False, False, False)
        states[places] = found.flatten(0, 1)
