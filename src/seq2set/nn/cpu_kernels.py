"""Products, tanh and blocks of rows for prediction on a CPU, equal to torch's own but for rounding.

Torch computes 32-bit products by MKL, which on processors of other makers than its own uses half of what
they can do, and tanh by the same library, which takes ten times as long there as a sigmoid. oneDNN, which
torch carries as well and compiled models call, uses what there is.

For attention, documents of equally many rows are put together, so that a block is a rectangle of D documents
with K rows each: their words are read once per document, contexts are products of matrices, and nothing is
padded. A step groups its rows once, for all that it attends to.

Letters: R rows, D documents of a block, K rows of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from seq2set.nn.decoding.prefixes import Ints


def _find(name: str) -> Callable[..., Tensor] | None:
    """Return an operation of oneDNN where this torch has it."""
    has_onednn: Any = torch.backends.mkldnn.is_available
    found: Callable[..., Tensor] | None = getattr(torch.ops.mkldnn, name, None) if has_onednn() else None
    return found


_REORDER, LINEAR = _find("_reorder_linear_weight"), _find("_linear_pointwise")

SIZES = (128, 64, 32, 16)
"""How many rows are multiplied at once: oneDNN keeps code for each size, more than half a megabyte."""

FEW = 4
"""Fewer rows than this are not worth to be filled up to the smallest size."""


class Product:
    """Multiplies rows (R, n) with weights (m, n) as `torch.nn.Linear` holds them, and adds a bias."""

    def __init__(self, weights: Tensor, bias: Tensor | None = None):
        self._weights, self._bias, self._laid_out = weights, bias, None
        if _REORDER and LINEAR and weights.device.type == "cpu" and weights.dtype == torch.float32:
            self._laid_out = _REORDER(weights.contiguous(), SIZES[0])

    def __call__(self, rows: Tensor) -> Tensor:
        """Return (R, m)."""
        if self._laid_out is None or len(rows) < FEW:
            return functional.linear(rows, self._weights, self._bias)
        found, start = rows.new_empty(len(rows), len(self._weights)), 0
        while (left := len(rows) - start) >= FEW:
            size = next((one for one in SIZES if one <= left), left)
            found[start : start + size] = self._multiply(rows[start : start + size])
            start += size
        if left:
            found[start:] = functional.linear(rows[start:], self._weights, self._bias)
        return found

    def _multiply(self, rows: Tensor) -> Tensor:
        assert LINEAR is not None
        missing = max(0, SIZES[-1] - len(rows))
        filled = functional.pad(rows, (0, 0, 0, missing)) if missing else rows
        return LINEAR(filled, self._laid_out, self._bias, "none", [], "")[: len(rows)]


def apply_tanh(numbers: Tensor) -> Tensor:
    """Return tanh(x) = 2 sigmoid(2x) - 1."""
    return (2 * numbers).sigmoid_().mul_(2).sub_(1)


class RowBlock(NamedTuple):
    """Documents of equally many rows."""

    documents: Ints
    """(D,) ascending"""
    rows: slice
    """D times K of the rows as grouped"""


class GroupedRows:
    """Rows (R,) of documents, ascending, put in an order in which blocks are slices of them."""

    def __init__(self, documents: Ints):
        first = np.flatnonzero(np.diff(documents, prepend=-1))
        counts = np.diff(first, append=len(documents))
        by_count = np.argsort(counts, kind="stable")
        first, counts = first[by_count], counts[by_count]
        starts = np.cumsum(counts) - counts
        self.order: Ints = np.repeat(first - starts, counts) + np.arange(len(documents))
        """(R,) which row stands at each place"""
        self.places: Ints = np.argsort(self.order)
        """(R,) where each row stands"""
        ends = np.flatnonzero(np.diff(counts, append=-1)) + 1
        parts = [slice(start, end) for start, end in pairwise([0, *ends.tolist()])]
        self._groups = [
            (documents[first[part]], int(starts[part][0]), int(counts[part][0])) for part in parts
        ]

    def cut(self, room: int) -> Iterator[RowBlock]:
        """Cut the rows into blocks of at most `room`, and one at least."""
        for documents, start, count in self._groups:
            many, some = max(1, room // count), min(count, max(1, room))
            for number in range(0, len(documents), many):
                part = documents[number : number + many]
                begin = start + number * count
                end = begin + len(part) * count
                step = some if some < count else end - begin
                for row in range(begin, end, step):
                    yield RowBlock(part, slice(row, min(row + step, end)))


def find_range(numbers: Ints) -> slice | None:
    """Return ascending numbers as a slice, where they follow each other."""
    start, end = int(numbers[0]), int(numbers[-1]) + 1
    return slice(start, end) if end - start == len(numbers) else None
