"""The paper's network as one would first write it: the opponent of `predict` and of `train-step`.

It computes with the weights of a `SetNetwork` and gives the same numbers, by torch's own layers and no more
thought than that: a packed LSTM, the tanh of every query with every key, a row for each sample, and all rows
stepping until the last one has ended.

Letters: B rows, T places of a source, L labels, H hidden units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seq2set.models.seq2set import SetNetwork
from seq2set.nn.attention import AdditiveAttention, Source
from seq2set.nn.decoder import AttentionDecoder
from seq2set.nn.encoders.bilstm import BiLSTMEncoder

Pick = Callable[[Tensor], Tensor]
"""Chooses symbols (B,) by log-probabilities (B, L + 1)."""


class PlainEncoded(NamedTuple):
    """What the encoder made of a batch."""

    states: Tensor  # (B, T, 2H)
    summary: Tensor  # (B, 2H)


def encode_packed(encoder: BiLSTMEncoder, ids: Tensor, lengths: Tensor) -> PlainEncoded:
    """Encode as the library's documentation recommends."""
    packed = pack_padded_sequence(encoder.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
    outputs, (hidden, _) = encoder.bilstm.lstm(packed)
    states, _ = pad_packed_sequence(outputs, batch_first=True)
    return PlainEncoded(states, torch.cat([hidden[-2], hidden[-1]], -1))


class PlainDecoder:
    """A decoder at work on rows of documents."""

    def __init__(
        self, weights: AttentionDecoder, start: Tensor, sources: Sequence[Source], bias: Tensor | None
    ):
        self.weights, self.sources, self.bias = weights, sources, bias
        self.attentions = cast("list[AdditiveAttention]", list(weights.attentions))
        self.keys = [one.U_a(source.values) for one, source in zip(self.attentions, sources, strict=True)]
        first = [layer(start).chunk(2, -1) for layer in weights.first]
        self.hidden, self.cell = [torch.tanh(s) for s, _ in first], [c for _, c in first]
        self.contexts = self._attend()
        self.emitted = torch.zeros(len(start), weights.symbols.outputs, dtype=torch.bool)

    def step(self, previous: Tensor) -> Tensor:
        """Read symbols (B,) and return log-probabilities of the next ones, (B, L + 1): eq. 4-7."""
        below = torch.cat([self.weights.embedding(previous), *self.contexts], -1)
        for layer, unit in enumerate(self.weights.cells):
            below, self.cell[layer] = unit(below, (self.hidden[layer], self.cell[layer]))
            self.hidden[layer] = below
        self.contexts = self._attend()
        features = torch.cat([self.hidden[-1], *self.contexts], -1)
        logits = self.weights.W_o(torch.tanh(self.weights.readout(features)))
        logits = logits if self.bias is None else logits + self.bias
        return torch.log_softmax(logits.masked_fill(self.emitted, float("-inf")), -1)

    def mark(self, symbols: Tensor) -> None:
        """Forbid labels that were emitted."""
        eos = self.weights.symbols.eos
        self.emitted = self.emitted.scatter(1, symbols.clamp(max=eos)[:, None], True)
        self.emitted[:, eos] = False

    def _attend(self) -> list[Tensor]:
        contexts = []
        for attention, source, keys in zip(self.attentions, self.sources, self.keys, strict=True):
            energies = (
                torch.tanh(attention.W_a(self.hidden[-1])[:, None] + keys) @ attention.v_a
            )  # eq. 1: (B, T)
            weights = torch.softmax(energies.masked_fill(~source.mask, float("-inf")), -1)  # eq. 2
            contexts.append((weights[:, None] @ source.values)[:, 0])  # eq. 3: (B, 2H)
        return contexts


class PlainRollout(NamedTuple):
    """A sequence of labels per row."""

    sets: Tensor  # (B, L), true where a label was emitted
    log_prob: Tensor  # (B,)
    states: Source
    """The states that emitted, up to that of `eos`, (B, S, H)"""


def roll_out(decoder: PlainDecoder, pick: Pick, most: int) -> PlainRollout:
    """Emit labels until all rows have ended; none emits more than `most`."""
    symbols = decoder.weights.symbols
    previous = torch.full((len(decoder.emitted),), symbols.bos)
    finished, log_prob = torch.zeros_like(previous, dtype=torch.bool), torch.zeros(len(previous))
    sets, states, ended = torch.zeros_like(decoder.emitted), [], []
    for step in range(most + 1):
        log_probs = decoder.step(previous)
        states.append(decoder.hidden[-1])
        ended.append(finished)
        chosen = pick(log_probs) if step < most else torch.full_like(previous, symbols.eos)
        taken = log_probs.gather(1, chosen[:, None])[:, 0] if step < most else torch.zeros_like(log_prob)
        log_prob = log_prob + taken.masked_fill(finished, 0.0)
        finished = finished | (chosen == symbols.eos)
        sets = sets.scatter(1, chosen.masked_fill(finished, symbols.eos)[:, None], True)
        if finished.all():
            break
        decoder.mark(chosen)
        previous = chosen.masked_fill(finished, symbols.pad)
    source = Source(torch.stack(states, 1), ~torch.stack(ended, 1))
    return PlainRollout(sets[:, : symbols.labels], log_prob, source)


def pick_likeliest(log_probs: Tensor) -> Tensor:
    """Choose as greedy decoding does."""
    return log_probs.argmax(-1)


def pick_at_random(generator: torch.Generator) -> Pick:
    """Choose as sampling does."""
    return lambda log_probs: torch.multinomial(log_probs.detach().exp(), 1, generator=generator)[:, 0]


def bind(
    network: SetNetwork, ids: Tensor, lengths: Tensor, margins: Tensor | None, rows: int = 1
) -> PlainDecoder:
    """Read documents, and return the set decoder with the given number of rows for each."""
    encoded = encode_packed(cast("BiLSTMEncoder", network.encoder), ids, lengths)
    start, bias = encoded.summary, None
    if network.prior is not None and margins is not None:
        start, bias = network.prior.start(start, margins), network.prior.bias(margins)
    sources = [Source(encoded.states, torch.arange(ids.shape[1]) < lengths[:, None])]
    if network.sequence_decoder is not None:
        with torch.no_grad():
            first = PlainDecoder(network.sequence_decoder, start, sources, bias)
            sources.append(roll_out(first, pick_likeliest, limit_labels(network)).states)
    repeated = [Source(*(part.repeat_interleave(rows, 0) for part in source)) for source in sources]
    bias = None if bias is None else bias.repeat_interleave(rows, 0)
    return PlainDecoder(network.set_decoder, start.repeat_interleave(rows, 0), repeated, bias)


def limit_labels(network: SetNetwork) -> int:
    """Return how many labels a row may have."""
    return network.max_labels or network.set_decoder.symbols.labels


def score_sequences(decoder: PlainDecoder, sequences: Tensor) -> Tensor:
    """Return the log-probabilities (B,) of label sequences (B, S) with their `eos`."""
    symbols = decoder.weights.symbols
    previous, log_prob = torch.full((len(sequences),), symbols.bos), torch.zeros(len(sequences))
    for column in (*sequences.T, torch.full((len(sequences),), symbols.pad)):
        targets = torch.where(column < symbols.labels, column, symbols.eos)
        taken = decoder.step(previous).gather(1, targets[:, None])[:, 0]
        log_prob = log_prob + taken.masked_fill(previous == symbols.pad, 0.0)
        decoder.mark(targets)
        previous = column.masked_fill(previous == symbols.pad, symbols.pad)
        previous = previous.masked_fill(column >= symbols.labels, symbols.pad)
    return log_prob
