"""Self-critical policy gradient, eq. 9-10: push up what was better than the baseline.

Letters: B documents, K samples a document.
"""

from __future__ import annotations

from torch import Tensor

from seq2set.errors import InputError


def self_critical(log_prob: Tensor, reward: Tensor, baseline: Tensor) -> Tensor:
    """Return a scalar whose gradient is that of L(theta) as eq. 10 estimates it.

    `log_prob` and `reward` (B,) or (B, K) belong to sampled sequences. The baseline is the reward of the
    greedy sequence, (B,) or (B, 1), or `leave_one_out` of the rewards.
    """
    if log_prob.dim() == 2 and baseline.dim() == 1:
        baseline = baseline[:, None]
    advantage = reward - baseline
    return -(advantage.detach() * log_prob).mean()


def leave_one_out(reward: Tensor) -> Tensor:
    """Return for each sample the mean reward (B, K) of the document's other samples."""
    samples = reward.shape[-1]
    if samples < 2:
        raise InputError(f"samples is {samples}; a leave-one-out baseline needs >= 2")
    return (reward.sum(-1, keepdim=True) - reward) / (samples - 1)
