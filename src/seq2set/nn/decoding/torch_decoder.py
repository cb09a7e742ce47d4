"""A decoder of `nn.decoder`, opened for the searches of prediction: the same numbers by fewer operations.

It has nothing to remember for a backward pass, and its rows are any mixture of prefixes and documents. What
all steps share is computed once per batch: the labels' part of the first layer's gates, as a table; and the
exponentials of the keys, since

    tanh(q + k) = 2 / (1 + exp(-2q) exp(-2k)) - 1

needs but a product and a quotient per step. The constant falls out of the softmax of eq. 2, and exponents
are clamped where both factors still have a finite product. Products with weights and tanh are those of
`nn.cpu_kernels`.

Letters: B documents, R rows, T places to attend to, V numbers per value, A attention units, H hidden units,
E numbers per label vector, L labels, D documents of a block, K rows of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional

from seq2set.nn.attention import BLOCK, AdditiveAttention, Memory
from seq2set.nn.cpu_kernels import SIZES, GroupedRows, Product, apply_tanh, find_range
from seq2set.nn.decoder import AttentionDecoder, DecoderPolicy, DecoderState
from seq2set.nn.decoding.prefixes import Ints, Reals, StepOutput

ROWS_AT_A_TIME = 2 * SIZES[0]
"""How many rows go through the layers at a time: the gates of all would be many numbers."""

LARGEST = 40.0
"""exp(40) exp(40) is still a 32-bit number."""


class TorchDecoder:
    """A `StepDecoder` on any device; on a CPU, numbers go to numpy without a copy."""

    @torch.no_grad()
    def __init__(self, policy: DecoderPolicy):
        self.labels, self.documents = policy.labels, policy.documents
        self.bias: Reals | None = None if policy.bias is None else policy.bias.numpy(force=True)
        self._policy, self._decoder, self._device = policy, policy.decoder, policy.device
        self._has_feedback = policy.decoder.feedback is not None
        self._weights = prepare_weights(policy.decoder)
        pairs = zip(self._weights.attentions, policy.memories, strict=True)
        self._memories = [_prepare_memory(weights, memory) for weights, memory in pairs]

    def start(self) -> StepState:
        """Return s_0, one row per document."""
        first = self._policy.first
        return StepState(*(tuple(part[:, 0] for part in parts) for parts in (*first[:3], first.emitted)))

    def outputs(self, state: StepState) -> Reals:
        """Return s_t of each row (R, H)."""
        found: Reals = state.hidden[-1].numpy(force=True)
        return found

    @torch.no_grad()
    def step(self, state: StepState, rows: Ints, documents: Ints, previous: Ints) -> StepOutput:
        """Read symbols (R,) at rows (R,) of a state, and score the labels and `eos`."""
        at, of, symbols = (torch.from_numpy(part).to(self._device) for part in (rows, documents, previous))
        parts = [self._run_cells(state, at[part], symbols[part], of[part]) for part in _cut(at)]
        following = _join(parts)
        top = following.hidden[-1]
        grouped = GroupedRows(documents)
        contexts = tuple(memory.attend(top, grouped) for memory in self._memories)
        scores = [self._score([one[part] for one in (top, *contexts)]) for part in _cut(at)]
        logits = scores[0] if len(scores) == 1 else torch.cat(scores)
        return StepOutput(following._replace(contexts=contexts), logits.numpy(force=True))

    def _run_cells(self, state: StepState, at: Tensor, symbols: Tensor, of: Tensor) -> StepState:
        """Return the layers' states at rows (R,), without contexts."""
        state = StepState(*(tuple(part.index_select(0, at) for part in parts) for parts in state))
        hidden, cell = list[Tensor](), list[Tensor]()
        for layer, product in enumerate(self._weights.gates):
            below = [hidden[-1]] if layer else state.contexts
            gates = product(torch.cat([*below, state.hidden[layer]], 1))  # (R, 4H)
            if layer == 0:
                gates += self._read(state, symbols, of)
            i, f, g, o = gates.chunk(4, 1)  # (R, H) each
            cell.append(f.sigmoid().mul_(state.cell[layer]).addcmul_(i.sigmoid(), apply_tanh(g)))
            hidden.append(o.sigmoid().mul_(apply_tanh(cell[-1])))
        emitted = self._decoder.mark(_view_state(state), symbols[:, None]) if self._has_feedback else ()
        return StepState(tuple(hidden), tuple(cell), (), tuple(part[:, 0] for part in emitted))

    def _score(self, features: Sequence[Tensor]) -> Tensor:
        """Return eq. 5 (R, L + 1) of states and contexts."""
        return self._weights.scores(apply_tanh(self._weights.readout(torch.cat(list(features), 1))))

    def _read(self, state: StepState, symbols: Tensor, documents: Tensor) -> Tensor:
        """Return what the symbols (R,) add to the first layer's gates (R, 4H)."""
        if not self._has_feedback:
            return self._weights.table.index_select(0, symbols)
        bias = None if self._policy.bias is None else self._policy.bias.index_select(0, documents)
        labels = self._decoder.read_labels(_view_state(state), symbols[:, None], bias)
        return _weigh_labels(self._decoder, labels[:, 0])


class StepState(NamedTuple):
    """Where the rows stand: a `DecoderState` without the axis of hypotheses."""

    hidden: tuple[Tensor, ...]
    """s_t of each layer (R, H)"""
    cell: tuple[Tensor, ...]
    """The LSTM's cell of each layer (R, H)"""
    contexts: tuple[Tensor, ...]
    """c_t of each source (R, V)"""
    emitted: tuple[Tensor, ...]
    """The mask of eq. 7 (R, L + 1), after `bos` and where a global embedding asks for it"""


def _view_state(state: StepState) -> DecoderState:
    """Return the state as the decoder itself has it, with one hypothesis per row."""
    hidden, cell, contexts, emitted = (tuple(part[:, None] for part in parts) for parts in state)
    return DecoderState(hidden, cell, contexts, (), emitted)


def _cut(rows: Tensor) -> list[slice]:
    """Cut rows (R,) where products cut them as well, so that the numbers are those of all rows together."""
    most = ROWS_AT_A_TIME if rows.device.type == "cpu" else max(1, len(rows))
    return [slice(start, start + most) for start in range(0, max(1, len(rows)), most)]


def _join(parts: Sequence[StepState]) -> StepState:
    if len(parts) == 1:
        return parts[0]
    return StepState(*(tuple(map(torch.cat, zip(*some, strict=True))) for some in zip(*parts, strict=True)))


class _AttentionWeights(NamedTuple):
    W_a: Product
    v_a: Tensor
    """(A,) twice that of eq. 1"""


class StepWeights(NamedTuple):
    """A decoder's weights as steps use them."""

    gates: list[Product]
    """Of each layer, for what it reads and its state side by side; without label vectors"""
    table: Tensor
    """(L + 3, 4H) what labels add to the first layer's gates, the biases included"""
    attentions: list[_AttentionWeights]
    readout: Product
    scores: Product


class _Prepared(NamedTuple):
    versions: list[tuple[int, int]]
    weights: StepWeights


_prepared: WeakKeyDictionary[AttentionDecoder, _Prepared] = WeakKeyDictionary()


def prepare_weights(decoder: AttentionDecoder) -> StepWeights:
    """Return a decoder's weights for steps; those that no training can change are kept."""
    if any(part.requires_grad for part in decoder.parameters()):
        return _make_weights(decoder)  # torch does not count the changes of a fused optimizer
    versions = [(part.data_ptr(), part._version) for part in decoder.parameters()]
    found = _prepared.get(decoder)
    if found is None or found.versions != versions:
        found = _prepared[decoder] = _Prepared(versions, _make_weights(decoder))
    return found.weights


def _make_weights(decoder: AttentionDecoder) -> StepWeights:
    attentions = cast("list[AdditiveAttention]", list(decoder.attentions))
    gates, start = [], decoder.embedding.embedding_dim
    for layer, unit in enumerate(cast("list[nn.LSTMCell]", list(decoder.cells))):
        read = unit.weight_ih if layer else unit.weight_ih[:, start:]
        bias = unit.bias_ih + unit.bias_hh if layer else None
        gates.append(Product(torch.cat([read, unit.weight_hh], 1), bias))
    return StepWeights(
        gates,
        _weigh_labels(decoder, decoder.embedding.weight),
        [_AttentionWeights(Product(one.W_a.weight), 2 * one.v_a) for one in attentions],
        Product(decoder.readout.weight),
        Product(decoder.W_o.weight),
    )


def _weigh_labels(decoder: AttentionDecoder, vectors: Tensor) -> Tensor:
    """Return what label vectors (n, E) add to the first layer's gates (n, 4H), the biases included."""
    unit = cast("nn.LSTMCell", decoder.cells[0])
    return functional.linear(vectors, unit.weight_ih[:, : vectors.shape[1]], unit.bias_ih + unit.bias_hh)


class _ExpMemory(NamedTuple):
    weights: _AttentionWeights
    values: Tensor
    """(B, T, V)"""
    keys: Tensor
    """(B, T, A) exp(-2k)"""
    missing: Tensor
    """(B, T) 0 at the places that exist, else -inf"""

    def attend(self, states: Tensor, grouped: GroupedRows) -> Tensor:
        """Read contexts (R, V) with states (R, H) of rows: eq. 1-3."""
        order, places = (torch.from_numpy(part).to(states.device) for part in (grouped.order, grouped.places))
        queries = _exponentiate(self.weights.W_a(states)).index_select(0, order)
        contexts = self.values.new_empty(len(states), self.values.shape[-1])
        room = BLOCK // self.keys[0].numel() if states.device.type == "cpu" else len(states)
        for documents, rows in grouped.cut(room):
            query = queries[rows].view(len(documents), -1, 1, queries.shape[1])  # (D, K, 1, A)
            sums = torch.addcmul(query.new_ones(1), _pick(self.keys, documents)[:, None], query)
            energies = sums.reciprocal_() @ self.weights.v_a  # (D, K, T, A) x (A,) -> (D, K, T)
            weights = torch.softmax(energies.add_(_pick(self.missing, documents)[:, None]), -1)
            found = contexts[rows].view(len(documents), -1, contexts.shape[1])
            torch.bmm(weights, _pick(self.values, documents), out=found)  # (D, K, T) x (D, T, V)
        return contexts.index_select(0, places)


def _pick(part: Tensor, documents: Ints) -> Tensor:
    """Take some documents, without a copy where they follow each other."""
    together = find_range(documents)
    if together is not None:
        return part[together]
    return part.index_select(0, torch.from_numpy(documents).to(part.device))


def _prepare_memory(weights: _AttentionWeights, memory: Memory) -> _ExpMemory:
    missing = torch.zeros_like(memory.keys[..., 0]).masked_fill_(~memory.mask, float("-inf"))
    return _ExpMemory(weights, memory.values, _exponentiate(memory.keys), missing)


def _exponentiate(numbers: Tensor) -> Tensor:
    return (-2 * numbers).clamp_(-LARGEST, LARGEST).exp_()
