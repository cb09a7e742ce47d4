"""The paper's encoder: word vectors and a bidirectional LSTM of n layers, which give h_i.

Three routes to the same numbers from the same weights, which are held as `nn.LSTM` holds them:

- `flipped`, on a CPU: the backward direction is a forward LSTM on documents flipped within their own
  length, so that padding always comes last; documents are sorted by length, and whenever an eighth of them
  has ended, those leave. The library's own packed LSTM has a backward pass quadratic in length there.
  Prediction does the same in less memory, see `bilstm_prediction`.
- `packed`, on CUDA: the library's packed sequences, which cuDNN runs.
- `whole`, elsewhere and for export: as `flipped`, but no document leaves, so nothing depends on the data.

Letters: B documents, T words, E numbers per word vector, H hidden units per direction, n layers.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seq2set.config import Config
from seq2set.core.errors import InputError
from seq2set.nn.encoders import Encoded, Encoder
from seq2set.nn.encoders.bilstm_prediction import ReadingOrder, Segment, read_documents
from seq2set.nn.noise import DocumentDropout, drop_between

Route = Literal["flipped", "packed", "whole"]

LEAVING = 8
"""Ended documents leave when one in this number has ended: earlier saves padding, later saves calls."""


class BiLSTMEncoder(Encoder):
    """Word vectors learned from scratch, then a `BiLSTM`."""

    def __init__(self, words: int, embedding: int, hidden: int, layers: int = 1, dropout: float = 0.0):
        super().__init__()
        self.embedding = nn.Embedding(words, embedding, padding_idx=0)
        self.dropout = DocumentDropout(dropout, along=True)
        self.bilstm = BiLSTM(embedding, hidden, layers, dropout)
        self.size = self.summary_size = 2 * hidden

    def forward(self, tokens: Tensor, lengths: Tensor) -> Encoded:
        """Encode (B, T) word numbers of documents of `lengths` (B,) words."""
        if not self.training and _only_predicts(tokens.device):
            order = _find_order(lengths, tokens.shape[1])
            return read_documents(self.bilstm.lstm, self.embedding, tokens, lengths, order)
        encoded: Encoded = self.bilstm(self.dropout(self.embedding(tokens)), lengths)
        return encoded

    def note_precision(self, precision: str) -> str | None:
        """Say that the LSTM runs in 32 bits where the CPU has no other."""
        if precision != "bf16-mixed" or has_bf16_lstm():
            return None
        return (
            "training.precision is 'bf16-mixed', but this CPU cannot run an LSTM in bfloat16: the encoder's "
            "LSTM runs in 32 bits"
        )


def build_bilstm(config: Config, words: int) -> BiLSTMEncoder:
    """Build the encoder of the settings for a vocabulary of `words` words."""
    chosen = config.encoder
    return BiLSTMEncoder(words, chosen.embedding, chosen.hidden, chosen.layers, chosen.dropout)


class BiLSTM(nn.Module):
    """A bidirectional LSTM of n layers over padded vectors, with dropout between its layers."""

    def __init__(self, inputs: int, hidden: int, layers: int = 1, dropout: float = 0.0):
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(inputs, hidden, layers, batch_first=True, bidirectional=True, dropout=between)

    def forward(self, vectors: Tensor, lengths: Tensor, route: Route | None = None) -> Encoded:
        """Encode (B, T, E) vectors of documents of `lengths` (B,) words; the device chooses the route."""
        if _must_widen(vectors.device):
            with torch.autocast("cpu", enabled=False):
                return self.forward(vectors.float(), lengths, route)
        route = route or choose_route(vectors.device)
        if route == "packed":
            return self._read_packed(vectors, lengths)
        if route == "whole":
            every = torch.arange(len(lengths), device=lengths.device)
            return self._read_flipped(vectors, lengths, every, [Segment(vectors.shape[1], vectors.shape[0])])
        return self._read_flipped(vectors, lengths, *_find_order(lengths, vectors.shape[1]))

    def _read_packed(self, vectors: Tensor, lengths: Tensor) -> Encoded:
        width = vectors.shape[1]
        packed = pack_padded_sequence(vectors, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, (hidden, _) = self.lstm(packed)
        states, _ = pad_packed_sequence(outputs, batch_first=True, total_length=width)
        mask = torch.arange(width, device=vectors.device) < lengths[:, None]
        return Encoded(states, mask, torch.cat([hidden[-2], hidden[-1]], -1))

    def _read_flipped(
        self, vectors: Tensor, lengths: Tensor, order: Tensor, segments: list[Segment]
    ) -> Encoded:
        """Read documents in this order, ahead and flipped within their lengths."""
        batch, width = vectors.shape[:2]
        rows = _WordPlaces.of(lengths, order, width)
        ahead = _permute(vectors.flatten(0, 1), rows.ahead, rows.from_ahead)  # (T * B, E)
        back = _permute(vectors.flatten(0, 1), rows.back, rows.from_back)
        for layer in range(self.lstm.num_layers):
            if layer:
                both = torch.cat([ahead, _permute(back, rows.flip, rows.flip)], -1)  # (T * B, 2H)
                dropped = drop_between(both.view(width, batch, -1), self.lstm.dropout, self.training, order)
                ahead = dropped.flatten(0, 1)
                back = _permute(ahead, rows.flip, rows.flip)
            ahead = self._read_one_way(ahead.view(width, batch, -1), f"l{layer}", segments).flatten(0, 1)
            back = self._read_one_way(back.view(width, batch, -1), f"l{layer}_reverse", segments).flatten(
                0, 1
            )
        # The two last states: forward at the last word, backward at the first.
        last = rows.from_ahead.view(batch, width).gather(1, lengths[:, None] - 1)[:, 0]  # (B,)
        summary = torch.cat([ahead[last], back[last]], -1)  # (B, 2H)
        ahead = _permute(ahead, rows.from_ahead, rows.ahead)
        back = _permute(back, rows.from_back, rows.back)
        mask = torch.arange(width, device=lengths.device) < lengths[:, None]  # (B, T)
        states = torch.cat([ahead, back], -1).view(batch, width, -1)
        return Encoded(states.masked_fill(~mask[..., None], 0.0), mask, summary)

    def _read_one_way(self, states: Tensor, suffix: str, segments: list[Segment]) -> Tensor:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights = [getattr(self.lstm, f"{name}_{suffix}") for name in names]
        batch, outputs = states.shape[1], []
        hidden = cell = states.new_zeros(1, batch, self.lstm.hidden_size)
        parts = torch.split(states, [segment.words for segment in segments])
        for part, (_, live) in zip(parts, segments, strict=True):
            first = (hidden[:, :live].contiguous(), cell[:, :live].contiguous())
            # After the weights: biases, layers, dropout, keep what backward needs, both ways, batch first.
            output, hidden, cell = torch.lstm(
                part[:, :live], first, weights, True, 1, 0.0, torch.is_grad_enabled(), False, False
            )
            outputs.append(functional.pad(output, (0, 0, 0, batch - live)))
        return torch.cat(outputs)


def choose_route(device: torch.device) -> Route:
    """Return the route that is the fastest on a device."""
    routes: dict[str, Route] = {"cpu": "flipped", "cuda": "packed"}
    return routes.get(device.type, "whole")


@cache
def has_bf16_lstm() -> bool:
    """Try whether the CPU runs an LSTM in bfloat16, forward and backward; the library refuses some CPUs."""
    with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", torch.bfloat16):
        vectors = torch.zeros(1, 1, 1)
        weights = [torch.zeros(4, 1), torch.zeros(4, 1), torch.zeros(4), torch.zeros(4)]
        weights = [one.requires_grad_() for one in weights]
        try:
            output, _, _ = torch.lstm(vectors, (vectors, vectors), weights, True, 1, 0.0, True, False, False)
            torch.autograd.grad(output.sum(), weights)
        except RuntimeError:
            return False
    return True


def _must_widen(device: torch.device) -> bool:
    """Whether mixed precision would ask the CPU for an LSTM that it does not have."""
    return (
        device.type == "cpu"
        and torch.is_autocast_enabled("cpu")
        and torch.get_autocast_dtype("cpu") == torch.bfloat16
        and not has_bf16_lstm()
    )


def _only_predicts(device: torch.device) -> bool:
    """Whether nothing is kept for a backward pass, on a CPU and in 32 bits or more."""
    return device.type == "cpu" and not torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")


def _find_order(lengths: Tensor, width: int) -> ReadingOrder:
    documents = lengths.sort(descending=True, stable=True).indices
    return ReadingOrder(documents, cut_segments(lengths[documents].tolist(), width))


def cut_segments(lengths: list[int], width: int) -> list[Segment]:
    """Cut `width` words where enough of the documents of these lengths, longest first, have ended."""
    if lengths[-1] < 1 or lengths[0] > width:
        raise InputError(f"documents have {lengths[-1]} to {lengths[0]} words; this batch takes 1 to {width}")
    segments, start, live = [], 0, len(lengths)
    for left in range(len(lengths) - 1, 0, -1):  # So many documents are longer than the next one, or as long.
        end = lengths[left]
        if end < lengths[left - 1] and LEAVING * (live - left) >= live:
            segments.append(Segment(end - start, live))
            start, live = end, left
    return [*segments, Segment(width - start, live)]


class _WordPlaces(NamedTuple):
    """Where words go: from how they came (B * T,) into the order of reading (T * B,), and the way back."""

    ahead: Tensor
    from_ahead: Tensor
    back: Tensor
    """Into documents that are flipped within their lengths"""
    from_back: Tensor
    flip: Tensor
    """(T * B,) from the order of reading ahead to that of reading back, and the other way round"""

    @classmethod
    def of(cls, lengths: Tensor, order: Tensor, width: int) -> _WordPlaces:
        """Read documents in this order; padding stays where it is."""
        batch, place, rank = len(order), torch.arange(width, device=lengths.device), order.argsort()[:, None]
        mirror = torch.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)  # (B, T)
        flipped, column = mirror[order].T, torch.arange(batch, device=lengths.device)  # (T, B), (B,)
        ahead, back = order * width + place[:, None], order * width + flipped
        ways = (ahead, place * batch + rank, back, mirror * batch + rank, flipped * batch + column)
        return cls(*(way.flatten() for way in ways))


class _Permute(torch.autograd.Function):
    """Rows in another order: whole rows are copied, forward and backward, instead of single numbers."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(inverse)
        return rows.index_select(0, order)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad.index_select(0, ctx.saved_tensors[0]), None, None


def _permute(rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
    """Put rows (n, H) in an order (n,) that `inverse` undoes."""
    permuted: Tensor = _Permute.apply(rows, order, inverse)  # type: ignore[no-untyped-call]
    return permuted
