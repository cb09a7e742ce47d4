"""What the linear prior adds to a decoder."""

from __future__ import annotations

import torch

from seq2set.models.seq2set import LinearPrior


def test_margins_are_scaled_and_moved() -> None:
    prior = LinearPrior(3, size=2)
    prior.calibrate(2.0, -0.5)
    with torch.no_grad():
        prior.offset[-1] = 0.25
    # 2 m - 0.5 for each label; `eos` has its offset alone.
    bias = prior.bias(torch.tensor([[1.0, 0.0, -1.0]]))
    assert bias.tolist() == [[1.5, -0.5, -2.5, 0.25]]


def test_the_first_state_sees_all_margins() -> None:
    prior = LinearPrior(3, size=2)
    with torch.no_grad():
        prior.view.weight.copy_(torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, -1.0]]))
        prior.view.bias.zero_()
    start = prior.start(torch.tensor([[9.0]]), torch.tensor([[0.5, 1.0, 1.0]]))
    assert torch.allclose(start, torch.tensor([[9.0, torch.tensor(0.5).tanh().item(), 0.0]]))
