"""A step of an LSTM cell with its gradient, by few operations on a CPU.

    i, f, o = sigmoid of their gates, g = tanh of its gate       (torch's order is i, f, g, o)
    c' = f * c + i * g
    h' = o * tanh(c')

tanh is taken from the sigmoid, which is ten times as fast there, so that one call serves all four gates.

Letters: R rows, H hidden units.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seq2set.nn.cpu_kernels import apply_tanh
from seq2set.nn.trained_product import multiply


class CellState(NamedTuple):
    """What a cell hands on, (R, H) both."""

    hidden: Tensor
    cell: Tensor


def step_cell(unit: nn.LSTMCell, below: Tensor, state: CellState) -> CellState:
    """Read what is below (R, ..) and go on from a state."""
    if below.device.type != "cpu" or torch.is_autocast_enabled("cpu"):
        return CellState(*unit(below, state))
    read = multiply(below, unit.weight_ih, unit.bias_ih)  # (R, 4H)
    kept = multiply(state.hidden, unit.weight_hh, unit.bias_hh)
    return CellState(*_CellStep.apply(read, kept, state.cell))  # type: ignore[no-untyped-call]


class _CellStep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, read: Tensor, kept: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        gates = read + kept
        i, f, g, o = gates.chunk(4, 1)  # (R, H) each, views
        g.mul_(2)
        gates.sigmoid_()
        g.mul_(2).sub_(1)
        following = (f * cell).addcmul_(i, g)
        tanh = apply_tanh(following)
        ctx.save_for_backward(gates, cell, tanh)
        return o * tanh, following

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_hidden: Tensor, of_following: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gates, cell, tanh = ctx.saved_tensors
        i, f, g, o = gates.chunk(4, 1)
        slope = torch.addcmul(o, o * tanh, tanh, value=-1)  # o (1 - tanh^2)
        of_cell = torch.addcmul(of_following, of_hidden, slope)  # (R, H)
        of_gates = torch.addcmul(gates, gates, gates, value=-1)  # s (1 - s); that of g follows
        of_i, of_f, of_g, of_o = of_gates.chunk(4, 1)
        of_i.mul_(of_cell).mul_(g)
        of_f.mul_(of_cell).mul_(cell)
        torch.mul(of_cell, i, out=of_g).addcmul_(of_g * g, g, value=-1)
        of_o.mul_(of_hidden).mul_(tanh)
        return of_gates, of_gates, of_cell.mul_(f)
