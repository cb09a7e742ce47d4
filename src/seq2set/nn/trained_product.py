"""The product of rows with the weights of a linear layer, and its gradients, for training on a CPU.

As in `nn.cpu_kernels`, oneDNN computes 32-bit products where it is faster than torch's own library: on
processors with AVX-512. Everything else takes `torch.nn.functional.linear`: other devices and precisions, few
rows, and programs that are being exported.

Letters: R rows, n numbers per row, m units of the layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from seq2set.nn.cpu_kernels import LINEAR

SIZES = (1024, 256, 128, 64, 32)
"""How many rows are multiplied at once: oneDNN keeps up to a megabyte of code for each size and layer."""


def multiply(rows: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return rows (.., n) times weights (m, n), plus a bias (m,): (.., m)."""
    if not _is_faster(rows, weights):
        return functional.linear(rows, weights, bias)
    flat = rows.reshape(-1, rows.shape[-1])
    product: Tensor = _TrainedProduct.apply(flat, weights, bias)  # type: ignore[no-untyped-call]
    return product.view(*rows.shape[:-1], -1)


@cache
def has_fast_products() -> bool:
    """Whether this processor and this torch have products that are faster than torch's usual ones."""
    return LINEAR is not None and "AVX512" in torch.backends.cpu.get_cpu_capability()


def _is_faster(rows: Tensor, weights: Tensor) -> bool:
    return (
        rows.device.type == "cpu"
        and rows.dtype == weights.dtype == torch.float32
        and rows.numel() >= SIZES[-1] * rows.shape[-1]
        and has_fast_products()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )


class _TrainedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weights)
        return _multiply_rows(rows, weights, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weights = ctx.saved_tensors
        of_rows, of_weights, of_bias = ctx.needs_input_grad
        return (
            _multiply_rows(grad, weights.t(), None) if of_rows else None,
            _correlate(grad, rows) if of_weights else None,
            grad.sum(0) if of_bias else None,
        )


def _multiply_rows(rows: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    """Return rows (R, n) times weights (m, n): (R, m)."""
    if len(rows) in SIZES:
        return _multiply_part(rows, weights, bias)
    product = rows.new_empty(len(rows), len(weights))
    for part in _cut(len(rows)):  # copied one by one, while it is in the cache
        product[part] = _multiply_part(rows[part], weights, bias)
    return product


def _multiply_part(rows: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    if len(rows) < SIZES[-1]:
        return functional.linear(rows, weights, bias)
    assert LINEAR is not None
    return LINEAR(rows, weights, bias, "none", [], "")


def _correlate(left: Tensor, right: Tensor) -> Tensor:
    """Return the sum over rows of the products of all pairs of numbers, of (R, m) and (R, n): (m, n)."""
    assert LINEAR is not None
    first, *others = _cut(len(left))
    total = LINEAR(left[first].t(), right[first].t(), None, "none", [], "")
    for part in others:
        if part.stop - part.start < SIZES[-1]:
            total.addmm_(left[part].t(), right[part])
        else:
            total += LINEAR(left[part].t(), right[part].t(), None, "none", [], "")
    return total


def _cut(rows: int) -> Iterator[slice]:
    """Cut rows into parts of the sizes above, and a rest."""
    start = 0
    while start < rows:
        size = next((one for one in SIZES if one <= rows - start), rows - start)
        yield slice(start, start + size)
        start += size
