"""A decoder of `nn.decoder`, opened for the searches of prediction: the same numbers by fewer operations.

It has nothing to remember for a backward pass, and its rows are any mixture of prefixes and documents. What
all steps share is computed once per batch: the labels' part of the first layer's gates, as a table; and the
exponentials of the keys, since

    tanh(q + k) = 2 / (1 + exp(-2q) exp(-2k)) - 1

needs but a product and a quotient per step. The constant falls out of the softmax of eq. 2, and exponents
are clamped where both factors still have a finite product.

Letters: B documents, R rows, T places to attend to, V numbers per value, A attention units, H hidden units,
E numbers per label vector, L labels.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from seq2set.nn.attention import BLOCK, AdditiveAttention, Memory
from seq2set.nn.decoder import DecoderPolicy, DecoderState
from seq2set.nn.decoding.prefixes import Ints, Reals, StepOutput

LARGEST = 40.0
"""exp(40) exp(40) is still a 32-bit number."""


class TorchDecoder:
    """A `StepDecoder` on any device; on a CPU, numbers go to numpy without a copy."""

    @torch.no_grad()
    def __init__(self, policy: DecoderPolicy):
        self.labels, self.documents = policy.labels, policy.documents
        self.bias: Reals | None = None if policy.bias is None else policy.bias.numpy(force=True)
        self._policy, self._decoder = policy, policy.decoder
        self._cells = cast("list[nn.LSTMCell]", list(policy.decoder.cells))
        attentions = cast("list[AdditiveAttention]", list(policy.decoder.attentions))
        pairs = zip(attentions, policy.memories, strict=True)
        self._memories = [_prepare(attention, memory) for attention, memory in pairs]
        self._table = self._weigh(policy.decoder.embedding.weight)  # (L + 3, 4H)

    def start(self) -> DecoderState:
        """Return s_0, one row per document."""
        return self._policy.first._replace(attention=())

    def outputs(self, state: DecoderState) -> Reals:
        """Return s_t of each row (R, H)."""
        found: Reals = state.output[:, 0].numpy(force=True)
        return found

    @torch.no_grad()
    def step(self, state: DecoderState, rows: Ints, documents: Ints, previous: Ints) -> StepOutput:
        """Read symbols (R,) at rows (R,) of a state, and score the labels and `eos`."""
        device = self._policy.device
        at, of, symbols = (torch.from_numpy(part).to(device) for part in (rows, documents, previous))
        state = state.map(lambda part: part.index_select(0, at))
        gates, hidden, cell = self._read(state, symbols, of), list[Tensor](), list[Tensor]()
        for layer, unit in enumerate(self._cells):
            if layer:
                gates = functional.linear(hidden[-1], unit.weight_ih, unit.bias_ih + unit.bias_hh)
            gates.addmm_(state.hidden[layer][:, 0], unit.weight_hh.mT)
            i, f, g, o = gates.chunk(4, 1)  # (R, H) each
            cell.append(f.sigmoid_().mul_(state.cell[layer][:, 0]).addcmul_(i.sigmoid_(), g.tanh_()))
            hidden.append(o.sigmoid_().mul_(cell[-1].tanh()))
        contexts = tuple(_attend(memory, hidden[-1], of)[:, None] for memory in self._memories)
        following = DecoderState(
            tuple(s[:, None] for s in hidden),
            tuple(c[:, None] for c in cell),
            contexts,
            (),
            self._decoder.mark(state, symbols[:, None]),
        )
        return StepOutput(following, self._decoder.logits(following.features)[:, 0].numpy(force=True))

    def _read(self, state: DecoderState, symbols: Tensor, documents: Tensor) -> Tensor:
        """Return what the symbols (R,) and the contexts add to the first layer's gates (R, 4H)."""
        if self._decoder.feedback is None:
            gates = self._table.index_select(0, symbols)
        else:
            bias = None if self._policy.bias is None else self._policy.bias.index_select(0, documents)
            gates = self._weigh(self._decoder.read_labels(state, symbols[:, None], bias)[:, 0])
        start = self._decoder.embedding.embedding_dim
        for context in state.contexts:
            end = start + context.shape[-1]
            gates.addmm_(context[:, 0], self._cells[0].weight_ih[:, start:end].mT)
            start = end
        return gates

    def _weigh(self, vectors: Tensor) -> Tensor:
        """Return what label vectors (n, E) add to the first layer's gates (n, 4H), the biases included."""
        unit = self._cells[0]
        return functional.linear(vectors, unit.weight_ih[:, : vectors.shape[1]], unit.bias_ih + unit.bias_hh)


class _ExpMemory(NamedTuple):
    attention: AdditiveAttention
    values: Tensor
    """(B, T, V)"""
    keys: Tensor
    """(B, T, A) exp(-2k)"""
    missing: Tensor
    """(B, T) 0 at the places that exist, else -inf"""


def _prepare(attention: AdditiveAttention, memory: Memory) -> _ExpMemory:
    missing = torch.zeros_like(memory.keys[..., 0]).masked_fill_(~memory.mask, float("-inf"))
    return _ExpMemory(attention, memory.values, _exponentiate(memory.keys), missing)


def _exponentiate(numbers: Tensor) -> Tensor:
    return (-2 * numbers).clamp_(-LARGEST, LARGEST).exp_()


def _attend(memory: _ExpMemory, states: Tensor, documents: Tensor) -> Tensor:
    """Read contexts (R, V) with states (R, H) of rows that belong to documents (R,): eq. 1-3."""
    queries, v = _exponentiate(memory.attention.W_a(states)), 2 * memory.attention.v_a
    room = max(1, BLOCK // memory.keys[0].numel()) if states.device.type == "cpu" else len(states)
    parts = []
    for query, of in zip(torch.split(queries, room), torch.split(documents, room), strict=True):
        products = memory.keys.index_select(0, of).mul_(query[:, None])  # (r, T, A)
        energies = products.add_(1.0).reciprocal_() @ v  # (r, T)
        weights = torch.softmax(energies.add_(memory.missing.index_select(0, of)), -1)
        parts.append(torch.bmm(weights[:, None], memory.values.index_select(0, of))[:, 0])
    return torch.cat(parts)
