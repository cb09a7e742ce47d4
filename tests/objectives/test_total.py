from __future__ import annotations

import pytest
import torch

from seq2set.core.errors import ConfigError
from seq2set.objectives.losses import mix_policy_loss, mix_total_loss


def test_lambda_weighs_the_set_loss() -> None:
    sequence_loss, set_loss = torch.tensor(10.0), torch.tensor(-2.0)
    # 0.2 x 10 + 0.8 x -2 = 0.4
    torch.testing.assert_close(mix_total_loss(sequence_loss, set_loss, 0.8), torch.tensor(0.4))
    assert mix_total_loss(sequence_loss, set_loss, 0.0).item() == 10.0
    assert mix_total_loss(sequence_loss, set_loss, 1.0).item() == -2.0


def test_a_share_of_likelihood_steadies_the_policy_gradient() -> None:
    # 0.75 x -2 + 0.25 x 10 = 1
    torch.testing.assert_close(
        mix_policy_loss(torch.tensor(-2.0), torch.tensor(10.0), 0.25), torch.tensor(1.0)
    )


@pytest.mark.parametrize(
    ("loss", "value", "text"),
    [
        (mix_total_loss, 3, r"^objective\.lambda is 3; it must lie in \[0, 1\]$"),
        (mix_total_loss, float("nan"), r"^objective\.lambda is nan; it must lie in \[0, 1\]$"),
        (mix_policy_loss, -0.5, r"^objective\.likelihood_share is -0\.5; it must lie in \[0, 1\]$"),
    ],
)
def test_shares_outside_are_refused(loss: object, value: float, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        loss(torch.tensor(0.0), torch.tensor(0.0), value)  # type: ignore[operator]
