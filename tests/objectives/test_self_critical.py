from __future__ import annotations

import pytest
import torch

from seq2set.core.errors import InputError
from seq2set.objectives.losses import compute_self_critical_loss, leave_one_out


def test_eq_10_worked_by_hand() -> None:
    log_prob = torch.tensor([-1.0, -2.0], requires_grad=True)
    reward, baseline = torch.tensor([0.8, 0.1], requires_grad=True), torch.tensor([0.5, 0.4])
    loss = compute_self_critical_loss(log_prob, reward, baseline)
    # -(0.3 x -1 + -0.3 x -2) / 2 = -0.15
    torch.testing.assert_close(loss, torch.tensor(-0.15))
    loss.backward()
    torch.testing.assert_close(log_prob.grad, torch.tensor([-0.15, 0.15]))
    assert reward.grad is None


def test_one_baseline_serves_all_samples_of_a_document() -> None:
    log_prob = torch.tensor([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]])
    reward, baseline = torch.tensor([[1.0, 0.0, 0.5], [0.0, 0.0, 1.0]]), torch.tensor([0.5, 1.0])
    # advantages 0.5, -0.5, 0 and -1, -1, 0: -(-0.5 + 1 + 4 + 5) / 6 = -9.5 / 6
    for shape in ((2,), (2, 1)):
        loss = compute_self_critical_loss(log_prob, reward, baseline.view(shape))
        torch.testing.assert_close(loss, torch.tensor(-9.5 / 6))


def test_what_equals_the_baseline_teaches_nothing() -> None:
    log_prob = torch.tensor([-1.0, -2.0], requires_grad=True)
    same = torch.tensor([0.7, 0.2])
    compute_self_critical_loss(log_prob, same, same).backward()
    assert log_prob.grad is not None
    assert log_prob.grad.tolist() == [0.0, 0.0]


def test_leave_one_out_is_the_mean_of_the_others() -> None:
    reward = torch.tensor([[1.0, 0.0, 0.5], [0.25, 0.25, 0.25]])
    expected = torch.tensor([[0.25, 0.75, 0.5], [0.25, 0.25, 0.25]])
    torch.testing.assert_close(leave_one_out(reward), expected)


def test_leave_one_out_needs_another_one() -> None:
    with pytest.raises(InputError, match="^samples is 1; a leave-one-out baseline needs >= 2$"):
        leave_one_out(torch.ones(4, 1))
