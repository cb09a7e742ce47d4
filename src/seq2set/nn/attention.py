"""Additive attention, eq. 1-3 of the paper.

What does not change from step to step, `U_a h`, is computed once a batch by `prepare`. A document may have
several hypotheses (samples, a beam) at once, which share its memory without copies.

Letters: B documents, K hypotheses a document, T places to attend to, V numbers a value, A attention units,
H numbers a query.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from seq2set.nn.energies import additive_energies


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
        return Memory(source.values, self.U_a(source.values), source.mask)

    def forward(self, query: Tensor, memory: Memory) -> Attended:
        """Read from a memory with queries (B, K, H)."""
        energies = additive_energies(self.W_a(query), memory.keys, self.v_a)  # eq. 1: (B, K, T)
        energies = energies.masked_fill(~memory.mask[:, None], float("-inf"))
        weights = torch.softmax(energies, -1)  # eq. 2
        return Attended(weights @ memory.values, weights)  # eq. 3: (B, K, T) x (B, T, V)
