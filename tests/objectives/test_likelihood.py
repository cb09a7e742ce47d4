from __future__ import annotations

import torch

from seq2set.objectives.losses import compute_likelihood_loss


def test_steps_are_added_and_documents_averaged() -> None:
    # Two documents of probability 0.5 x 0.25 and 0.1: (3 ln 2 + ln 10) / 2 = (2.079442 + 2.302585) / 2
    steps = torch.tensor([[0.5, 0.25], [0.1, 1.0]]).log()
    torch.testing.assert_close(compute_likelihood_loss(steps), torch.tensor(2.1910134))
