from __future__ import annotations

import pytest
import torch

from seq2set.nn import attention as energies
from seq2set.nn.attention import compute_energies


def inputs(dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    torch.manual_seed(0)
    shapes = [(3, 4, 5), (3, 6, 5), (5,)]  # queries (B, K, A), keys (B, T, A), v (A,)
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


def test_energies_are_those_of_eq_1_but_for_a_constant() -> None:
    queries, keys, v = inputs()
    plain = torch.tanh(queries[:, :, None] + keys[:, None]) @ v
    shift = compute_energies(queries, keys, v) - plain
    torch.testing.assert_close(shift, v.sum().expand_as(shift))


@pytest.mark.parametrize("block", [1, 60, 300, 10**6], ids=["hypothesis", "some", "documents", "all"])
def test_the_gradient_is_right_however_the_work_is_cut(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    whole = compute_energies(*inputs())
    monkeypatch.setattr(energies, "BLOCK", block)
    torch.testing.assert_close(compute_energies(*inputs()), whole)
    assert torch.autograd.gradcheck(compute_energies, inputs())


def test_great_inputs_saturate_and_do_not_overflow() -> None:
    queries, keys = torch.full((1, 1, 1), 400.0), torch.tensor([[[-800.0], [0.0], [800.0]]])
    v = torch.tensor([1.5], requires_grad=True)
    found = compute_energies(queries, keys, v)
    assert found.flatten().tolist() == [0.0, 3.0, 3.0]  # 1.5 tanh(-400, 400, 1200) + 1.5
    found.sum().backward()
    assert v.grad is not None
    assert v.grad.tolist() == [4.0]
