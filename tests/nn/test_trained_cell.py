from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seq2set.nn.trained_cell import CellState, step_cell


def _make(dtype: torch.dtype, rows: int) -> tuple[nn.LSTMCell, list[Tensor]]:
    torch.manual_seed(1)
    unit = nn.LSTMCell(6, 5).to(dtype)
    return unit, [torch.randn(rows, size, dtype=dtype, requires_grad=True) for size in (6, 5, 5)]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-14), (torch.float32, 1e-5)])
@pytest.mark.parametrize("rows", [1, 40])
def test_a_step_and_its_gradients_are_torchs(rows: int, dtype: torch.dtype, tolerance: float) -> None:
    unit, (below, hidden, cell) = _make(dtype, rows)
    inputs = [below, hidden, cell, *unit.parameters()]
    sides = []
    for step in (step_cell(unit, below, CellState(hidden, cell)), unit(below, (hidden, cell))):
        loss = (step[0] * 3 + step[1] ** 2).sum()
        sides.append([*step, *torch.autograd.grad(loss, inputs)])
    for found, expected in zip(*sides, strict=True):
        torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


def test_gradients_follow_small_changes() -> None:
    unit, inputs = _make(torch.float64, 3)
    assert torch.autograd.gradcheck(
        lambda below, hidden, cell: step_cell(unit, below, CellState(hidden, cell)), inputs
    )


def test_a_step_whose_cell_nobody_reads_has_gradients() -> None:
    unit, (below, hidden, cell) = _make(torch.float64, 3)
    found = torch.autograd.grad(step_cell(unit, below, CellState(hidden, cell)).hidden.sum(), below)[0]
    expected = torch.autograd.grad(unit(below, (hidden, cell))[0].sum(), below)[0]
    torch.testing.assert_close(found, expected, atol=1e-14, rtol=0)


def test_mixed_precision_takes_torchs_own_step() -> None:
    unit, (below, hidden, cell) = _make(torch.float32, 40)
    with torch.autocast("cpu", torch.bfloat16):
        found = step_cell(unit, below, CellState(hidden, cell))
        expected = unit(below, (hidden, cell))
    assert torch.equal(found.hidden, expected[0])
    assert found.hidden.dtype == expected[0].dtype
