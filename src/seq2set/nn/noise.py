"""Random numbers that belong to a document: the same in whatever batch, order or process it is computed.

A number is the hash of its document's key and of its place. Processes that share a batch then drop and sample
what one process would: a training's result does not depend on how many there are. Without keys, dropout and
samples come from torch's generators, one number after another.

Letters: B documents, K hypotheses per document, T places, E units.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

_GOLDEN, _FIRST, _SECOND = 0x9E3779B1 - 2**32, 0x7FEB352D, 0x846CA68B - 2**32


@dataclass
class _Keys:
    keys: Tensor
    """(B,) or (B, K), 32 bits each"""
    calls: int = 0
    """How often something was dropped; places of two calls never share their numbers"""


_CURRENT: ContextVar[_Keys | None] = ContextVar("keys", default=None)


@contextmanager
def use_keys(keys: Tensor | None) -> Iterator[None]:
    """Let dropout in the block follow these keys (B,) or (B, K), or without any torch's generator."""
    token = _CURRENT.set(None if keys is None else _Keys(keys))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def get_keys() -> Tensor | None:
    """Return the keys that dropout follows now."""
    current = _CURRENT.get()
    return None if current is None else current.keys


def mix_keys(keys: Tensor, number: Tensor | int) -> Tensor:
    """Return keys that differ by a number, or by a tensor of numbers: all 32 bits depend on both.

    The hash is Wellons' lowbias32; 32-bit products wrap around, and shifts are made logical by a mask.
    """
    mixed = keys + (number.to(torch.int32) if isinstance(number, Tensor) else number) * _GOLDEN
    mixed ^= (mixed >> 16) & 0xFFFF
    mixed *= _FIRST
    mixed ^= (mixed >> 15) & 0x1FFFF
    mixed *= _SECOND
    return mixed.bitwise_xor_((mixed >> 16) & 0xFFFF)


def derive_keys(seed: int, update: int, documents: npt.NDArray[np.int64]) -> Tensor:
    """Return the keys (B,) of documents, by their numbers in the split, for an update of a training."""
    start = mix_keys(torch.tensor([seed % 2**31], dtype=torch.int32), update)
    return mix_keys(start, torch.from_numpy(documents))


def draw_uniform(keys: Tensor, count: int) -> Tensor:
    """Return numbers (.., count) between 0 and 1, both excluded, for keys (..)."""
    bits = mix_keys(keys[..., None], torch.arange(1, count + 1, device=keys.device))
    return ((bits >> 8).float() + (2**23 + 0.5)) / 2**24


class DocumentDropout(nn.Dropout):
    """Dropout by document keys, where there are any; the second axis shares a mask, unless `along`."""

    def __init__(self, p: float, *, along: bool = False):
        super().__init__(p)
        self.along = along

    def forward(self, values: Tensor) -> Tensor:
        """Drop from values (B, .., E)."""
        current = _CURRENT.get()
        if current is None or not self.training or not self.p:
            return super().forward(values)
        current.calls += 1
        keys = mix_keys(current.keys, current.calls)
        if self.along:
            keys = mix_keys(keys[:, None], torch.arange(values.shape[1], device=keys.device))
        elif keys.numel() == len(values):
            keys = keys.view(-1, *[1] * (values.dim() - 2))
        return drop(values, keys, self.p)


def drop(values: Tensor, keys: Tensor, share: float) -> Tensor:
    """Drop a share of values (.., E) by keys (..), and scale the others up."""
    return values * ((draw_uniform(keys, values.shape[-1]) >= share) / (1 - share)).to(values.dtype)


def drop_between(states: Tensor, share: float, training: bool, order: Tensor | None) -> Tensor:
    """Drop from states (T, B, E) of documents that stand in another `order` (B,) than their keys."""
    current = _CURRENT.get()
    if current is None or not training or not share:
        return functional.dropout(states, share, training)
    current.calls += 1
    keys = current.keys if order is None else current.keys[order]
    places = torch.arange(len(states), device=states.device)[:, None]
    return drop(states, mix_keys(mix_keys(keys, current.calls), places), share)
