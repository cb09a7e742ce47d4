"""The losses that training minimises: likelihood, policy gradient, and the two put together.

Letters: B documents, S steps, K samples per document.
"""

from __future__ import annotations

from torch import Tensor

from seq2set.core.errors import ConfigError, InputError


def compute_likelihood_loss(steps: Tensor) -> Tensor:
    """Return L(phi), the mean over documents of minus the log-probabilities (B, S) of their steps.

    Of a rollout along a given order, a step counts its label; of one without an order (`score_sets`), it
    counts every label that is still right. Steps after `eos` are 0.
    """
    return -steps.sum(-1).mean()


def compute_self_critical_loss(log_prob: Tensor, reward: Tensor, baseline: Tensor) -> Tensor:
    """Return a scalar whose gradient is that of L(theta) as eq. 10 estimates it.

    It pushes up what was better than the baseline: the reward of the greedy sequence, (B,) or (B, 1), or
    `leave_one_out` of the rewards. `log_prob` and `reward` (B,) or (B, K) belong to sampled sequences.
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


def mix_total_loss(sequence_loss: Tensor, set_loss: Tensor, weight: float) -> Tensor:
    """Return (1 - lambda) L(phi) + lambda L(theta), the paper's objective, with `weight` as lambda."""
    return _mix(set_loss, sequence_loss, weight, "objective.lambda")


def mix_policy_loss(policy_loss: Tensor, likelihood_loss: Tensor, share: float) -> Tensor:
    """Return the policy gradient's loss with a share of likelihood on the same decoder, to steady it."""
    return _mix(likelihood_loss, policy_loss, share, "objective.likelihood_share")


def _mix(part: Tensor, rest: Tensor, share: float, name: str) -> Tensor:
    if not 0 <= share <= 1:
        raise ConfigError([f"{name} is {share}; it must lie in [0, 1]"])
    return (1 - share) * rest + share * part
