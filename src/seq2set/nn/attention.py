"""Additive attention, eq. 1-3 of the paper.

What does not change from step to step, `U_a h`, is computed once per batch by `prepare`. A document may have
several hypotheses (samples, a beam) at once, which share its memory without copies.

Letters: B documents, K hypotheses per document, T places to attend to, V numbers per value, A attention
units, H numbers per query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seq2set.nn.trained_product import multiply

BLOCK = 1 << 18
"""How many numbers a block may have on a CPU: 1 MiB of them stay in its cache."""


class Source(NamedTuple):
    """Something to attend to."""

    values: Tensor
    """(B, T, V)"""
    mask: Tensor
    """(B, T) true at the places that exist; each document has at least one."""


class Memory(NamedTuple):
    """A source with what attention needs of it at every step."""

    values: Tensor
    """(B, T, V) h"""
    keys: Tensor
    """(B, T, A) U_a h"""
    mask: Tensor
    """(B, T) true at the places that exist."""

    def select(self, documents: Tensor) -> Memory:
        """Keep the documents of these numbers."""
        return Memory(*(part.index_select(0, documents) for part in self))


class Attended(NamedTuple):
    """What was read from a memory, and where."""

    context: Tensor
    """(B, K, V) c_t"""
    weights: Tensor
    """(B, K, T) alpha_t, zero at places that do not exist."""


class AdditiveAttention(nn.Module):
    """Weighs the places of a memory by a learned sum of query and key."""

    def __init__(self, query: int, value: int, size: int):
        super().__init__()
        self.W_a = nn.Linear(query, size, bias=False)
        self.U_a = nn.Linear(value, size, bias=False)
        self.v_a = nn.Parameter(nn.Linear(size, 1, bias=False).weight[0].detach().clone())

    def prepare(self, source: Source) -> Memory:
        """Compute the part of eq. 1 that all steps share."""
        return Memory(source.values, multiply(source.values, self.U_a.weight), source.mask)

    def forward(self, query: Tensor, memory: Memory) -> Attended:
        """Read from a memory with queries (B, K, H)."""
        queries = multiply(query, self.W_a.weight)
        energies = compute_energies(queries, memory.keys, self.v_a)  # eq. 1: (B, K, T)
        energies = energies.masked_fill(~memory.mask[:, None], float("-inf"))
        weights = torch.softmax(energies, -1)  # eq. 2
        return Attended(weights @ memory.values, weights)  # eq. 3: (B, K, T) x (B, T, V)


def compute_energies(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """Return v . tanh(q + k), but for a constant, of queries (B, K, A) and keys (B, T, A): (B, K, T).

    Since tanh(x) = 2 sigmoid(2x) - 1, v . tanh(x) is 2 v . sigmoid(2x) but for a constant, which the softmax
    of eq. 2 takes out again; the sigmoid is several times faster. It is computed in blocks that fit a CPU's
    cache, and again in the backward pass, so that the B x K x T x A numbers are never held at once.
    """
    energies: Tensor = _Energies.apply(queries, keys, v)  # type: ignore[no-untyped-call]
    return energies


class _Energies(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, v)
        energies = keys.new_empty(*queries.shape[:2], keys.shape[1])
        for block in _cut_blocks(queries, keys):
            energies[block] = _squash(queries, keys, block) @ (2 * v)
        return energies

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, v = ctx.saved_tensors
        of_queries, of_keys, of_v = torch.empty_like(queries), torch.zeros_like(keys), torch.zeros_like(v)
        for block in _cut_blocks(queries, keys):
            sigmoid, part = _squash(queries, keys, block), grad[block]  # (b, k, T, A), (b, k, T)
            of_v += part.reshape(-1) @ sigmoid.flatten(0, 2)
            slope = sigmoid.addcmul_(sigmoid, sigmoid, value=-1)  # sigmoid (1 - sigmoid)
            of_queries[block] = (part[:, :, None] @ slope)[:, :, 0]
            of_keys[block.documents] += slope.mul_(part[..., None]).sum(1)
        return of_queries.mul_(4 * v), of_keys.mul_(4 * v), of_v.mul_(2)


def _squash(queries: Tensor, keys: Tensor, block: _EnergyBlock) -> Tensor:
    query, key = queries[block][:, :, None], keys[block.documents][:, None]
    return torch.add(2 * query, key, alpha=2).sigmoid_()  # (b, k, T, A)


def _cut_blocks(queries: Tensor, keys: Tensor) -> Iterator[_EnergyBlock]:
    """Cut the documents, and where one alone is too large its hypotheses; other devices take all at once."""
    documents, hypotheses = queries.shape[:2]
    room = BLOCK if keys.device.type == "cpu" else queries.numel() * keys.shape[1]
    one = max(1, keys.shape[1] * keys.shape[2])
    some = min(hypotheses, max(1, room // one))
    many = max(1, room // (one * hypotheses))
    for document in range(0, documents, many):
        for hypothesis in range(0, hypotheses, some):
            yield _EnergyBlock(slice(document, document + many), slice(hypothesis, hypothesis + some))


class _EnergyBlock(NamedTuple):
    documents: slice
    hypotheses: slice
