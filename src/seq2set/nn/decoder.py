"""The decoder: an LSTM that emits one label per step and attends to one source (D1) or to two (D2).

Time follows the paper's indices. `s_0` comes from the encoder's summary through a learned layer for each
decoder layer, and `y_0` is `bos`. From then on

    c_t     = attention of s_t to each source               eq. 1-3, in `attention`
    s_{t+1} = LSTM(s_t, [e(y_t); c_t])                      eq. 4, and eq. 8 with two contexts: `advance`
    o_t     = W_o f(W_d s_t + V_d c_t)                      eq. 5: `logits`
    y_t     ~ softmax(o_t + I_t)                            eq. 6: `compute_log_probs`
    I_t     = -inf for labels emitted before, else 0        eq. 7: `mark_emitted`

and `decoding.rollout` picks y_t and goes on. So `s_1`, the first state that has read a symbol, emits the
first label, and the state that emits `eos` is the last one. A step thus reads each source once: `c_t` serves
the output and the next state. `f` is tanh. The attention is that of the top layer's state. With two sources
the output reads both contexts: `W_d s_t + V_e c_t^e + V_c c_t^d`; the W_d and V matrices are columns of one,
`readout`. Without any source there is no context: all that the decoder knows of a document is then its first
state.

Letters: B documents, K hypotheses per document, L labels, H hidden units, V numbers of a source's value, E
numbers per label vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from seq2set.nn.attention import AdditiveAttention, Memory, Source
from seq2set.nn.decoding.prefixes import Symbols
from seq2set.nn.noise import DocumentDropout, get_keys, mix_keys, use_keys
from seq2set.nn.trained_cell import CellState, step_cell
from seq2set.nn.trained_product import multiply


def compute_log_probs(logits: Tensor, emitted: Tensor) -> Tensor:
    """Give log-probabilities (.., L + 1) in which an emitted label has none: eq. 6; at least in 32 bits."""
    exact = torch.promote_types(logits.dtype, torch.float32)
    return torch.log_softmax(logits.masked_fill(emitted, float("-inf")), -1, dtype=exact)


def mark_emitted(emitted: Tensor, symbols: Tensor) -> Tensor:
    """Add symbols (B, K) to the mask (B, K, L + 1); `eos` and what comes after it stay allowed."""
    eos = emitted.shape[-1] - 1
    marked = emitted.scatter(-1, symbols.clamp(max=eos)[..., None], True)
    marked[..., eos] = False
    return marked


class DecoderState(NamedTuple):
    """Where a decoder stands after some steps; all tensors begin with (B, K)."""

    hidden: tuple[Tensor, ...]
    """s_t of each layer, (B, K, H)"""
    cell: tuple[Tensor, ...]
    """The LSTM's cell of each layer, (B, K, H)"""
    contexts: tuple[Tensor, ...]
    """c_t of each source, (B, K, V)"""
    attention: tuple[Tensor, ...]
    """The weights behind each context, (B, K, T)"""
    emitted: tuple[Tensor, ...] = ()
    """The mask of eq. 7, (B, K, L + 1), after `bos` and where a global embedding asks for it"""

    @property
    def output(self) -> Tensor:
        """s_t of the top layer, (B, K, H)."""
        return self.hidden[-1]

    @property
    def features(self) -> Tensor:
        """What the output layer reads: [s_t; c_t], (B, K, H + V)."""
        return torch.cat([self.output, *self.contexts], -1)

    def map(self, change: Callable[[Tensor], Tensor]) -> DecoderState:
        """Apply a change of rows to all tensors."""
        return DecoderState(*(tuple(change(part) for part in parts) for parts in self))


class AttentionDecoder(nn.Module):
    """The weights of a decoder with one attention for each size in `sources`."""

    def __init__(
        self,
        labels: int,
        embedding: int,
        hidden: int,
        *,
        sources: Sequence[int],
        start: int,
        layers: int = 1,
        attention: int | None = None,
        dropout: float = 0.0,
        global_embedding: bool = False,
    ):
        super().__init__()
        self.symbols = Symbols(labels)
        self.embedding = nn.Embedding(self.symbols.inputs, embedding, padding_idx=self.symbols.pad)
        self.first = nn.ModuleList(nn.Linear(start, 2 * hidden) for _ in range(layers))
        self.attentions = nn.ModuleList(
            AdditiveAttention(hidden, size, attention or hidden) for size in sources
        )
        inputs = [embedding + sum(sources)] + [hidden] * (layers - 1)
        self.cells = nn.ModuleList(nn.LSTMCell(size, hidden) for size in inputs)
        self.readout = nn.Linear(hidden + sum(sources), hidden, bias=False)
        self.W_o = nn.Linear(hidden, self.symbols.outputs, bias=False)
        self.dropout = DocumentDropout(dropout)
        self.feedback = GlobalEmbedding(embedding) if global_embedding else None

    def bind(self, start: Tensor, sources: Sequence[Source], bias: Tensor | None = None) -> DecoderPolicy:
        """Bind to documents: what s_0 comes from (B, ..), the sources, and a bias (B, L + 1) on logits."""
        attentions = cast("list[AdditiveAttention]", list(self.attentions))
        memories = tuple(part.prepare(source) for part, source in zip(attentions, sources, strict=True))
        first = self._build_first_state(start, memories)
        return DecoderPolicy(self, memories, first, bias, keys=get_keys())

    def advance(
        self,
        memories: Sequence[Memory],
        state: DecoderState,
        previous: Tensor,
        bias: Tensor | None = None,
    ) -> DecoderState:
        """Read the symbols `previous` (B, K) and go from s_t to s_{t+1} and its contexts."""
        label = self.dropout(self.read_labels(state, previous, bias))
        below = torch.cat([label, *state.contexts], -1).flatten(0, 1)  # eq. 4 and 8: (B * K, E + V)
        hidden, cell = [], []
        units = cast("list[nn.LSTMCell]", list(self.cells))
        for layer, (unit, s, c) in enumerate(zip(units, state.hidden, state.cell, strict=True)):
            below = self.dropout(below) if layer else below
            below, kept = step_cell(unit, below, CellState(s.flatten(0, 1), c.flatten(0, 1)))
            hidden.append(below.view_as(s))
            cell.append(kept.view_as(c))
        following = self._attend(memories, tuple(hidden), tuple(cell))
        return following._replace(emitted=self.mark(state, previous))

    def logits(self, features: Tensor, bias: Tensor | None = None) -> Tensor:
        """Score all labels and `eos` from features (B, n, H + V), with a bias (B, L + 1) on top."""
        mixed = torch.tanh(multiply(features, self.readout.weight))
        scores = multiply(self.dropout(mixed), self.W_o.weight)  # eq. 5: (B, n, L + 1)
        return scores if bias is None else scores + bias[:, None]

    def read_labels(self, state: DecoderState, previous: Tensor, bias: Tensor | None) -> Tensor:
        """Return e(y_t) (B, K, E), or its mix with the mean embedding of what could have been emitted."""
        label: Tensor = self.embedding(previous)
        if self.feedback is None:
            return label
        # No state emitted `bos`; mixed with itself it stays as it is, and no weight is ever without gradient.
        mixed: Tensor = self.feedback(
            label, self._average_embeddings(state, bias) if state.emitted else label
        )
        return mixed

    def _average_embeddings(self, state: DecoderState, bias: Tensor | None) -> Tensor:
        """Return the mean embedding (B, K, E) under softmax(o_t + I_t), eq. 6."""
        likely = compute_log_probs(self.logits(state.features, bias), state.emitted[0]).exp()
        table = self.embedding.weight[: self.symbols.outputs]  # (L + 1, E)
        return likely.to(table.dtype) @ table

    def mark(self, state: DecoderState, previous: Tensor) -> tuple[Tensor, ...]:
        """Take the mask of eq. 7 along with the state, where it is needed."""
        if self.feedback is None:
            return ()
        nothing = previous.new_zeros(*previous.shape, self.symbols.outputs, dtype=torch.bool)
        return (mark_emitted(state.emitted[0] if state.emitted else nothing, previous),)

    def _build_first_state(self, start: Tensor, memories: Sequence[Memory]) -> DecoderState:
        pairs = [layer(start)[:, None].chunk(2, -1) for layer in self.first]  # (B, 1, H) each
        hidden = tuple(torch.tanh(s) for s, _ in pairs)
        return self._attend(memories, hidden, tuple(c for _, c in pairs))

    def _attend(
        self, memories: Sequence[Memory], hidden: tuple[Tensor, ...], cell: tuple[Tensor, ...]
    ) -> DecoderState:
        pairs = zip(self.attentions, memories, strict=True)
        read = [attention(hidden[-1], memory) for attention, memory in pairs]
        contexts = tuple(part.context for part in read)
        return DecoderState(hidden, cell, contexts, tuple(part.weights for part in read))


@dataclass(frozen=True)
class DecoderPolicy:
    """A decoder bound to a batch of documents, as the searches in `decoding` take it."""

    decoder: AttentionDecoder
    memories: tuple[Memory, ...]
    first: DecoderState
    bias: Tensor | None = None
    temperature: float = 1.0
    """Logits are divided by it: below 1 it sharpens the policy itself, its greedy answer unchanged"""
    keys: Tensor | None = None
    """(B,) what dropout follows, see `nn.noise`"""

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return self.decoder.symbols.eos

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return len(self.first.output)

    @property
    def device(self) -> torch.device:
        """Where the documents are."""
        return self.first.output.device

    def start(self) -> DecoderState:
        """Return s_0, one hypothesis per document."""
        return self.first

    def advance(self, state: DecoderState, previous: Tensor) -> DecoderState:
        """Read one symbol (B, K) a hypothesis."""
        with use_keys(None if self.keys is None else mix_keys(self.keys[:, None], previous)):
            return self.decoder.advance(self.memories, state, previous, self.bias)

    def logits(self, features: Tensor) -> Tensor:
        """Score all labels and `eos` from features (B, n, H + V) of any n hypotheses or steps."""
        with use_keys(self.keys):
            return self.decoder.logits(features, self.bias) / self.temperature

    def temper(self, temperature: float) -> DecoderPolicy:
        """Return the policy at another temperature."""
        return replace(self, temperature=temperature)

    def select(self, documents: Tensor) -> DecoderPolicy:
        """Keep the documents of these numbers."""
        memories = tuple(memory.select(documents) for memory in self.memories)
        first = self.first.map(lambda part: part.index_select(0, documents))
        bias = None if self.bias is None else self.bias.index_select(0, documents)
        keys = None if self.keys is None else self.keys.index_select(0, documents)
        return DecoderPolicy(self.decoder, memories, first, bias, self.temperature, keys)


class GlobalEmbedding(nn.Module):
    """The global embedding of the SGM model: the next input tells of all labels that were likely.

        e = e(y_t)                     the embedding of the label that was emitted
        a = sum_i p_i e_i              the mean embedding under the distribution p that emitted it
        H = sigmoid(W_1 e + W_2 a)     the transform gate
        g = (1 - H) * e + H * a        what the LSTM reads instead of e

    so that a label emitted wrongly does not mislead the steps after it that much. The gate is a sigmoid, as
    in the authors' program; their paper writes it without one.
    """

    def __init__(self, size: int):
        super().__init__()
        self.W_1 = nn.Linear(size, size, bias=False)
        self.W_2 = nn.Linear(size, size, bias=False)

    def forward(self, label: Tensor, mean: Tensor) -> Tensor:
        """Mix the emitted labels' embeddings and the mean ones, (B, K, E) both."""
        gate = torch.sigmoid(self.W_1(label) + self.W_2(mean))  # (B, K, E)
        return label + gate * (mean - label)
