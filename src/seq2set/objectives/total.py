"""How the two losses of a step are put together."""

from __future__ import annotations

from torch import Tensor

from seq2set.errors import ConfigError


def total_loss(sequence_loss: Tensor, set_loss: Tensor, weight: float) -> Tensor:
    """Return (1 - lambda) L(phi) + lambda L(theta), the paper's objective, with `weight` as lambda."""
    return _mixed(set_loss, sequence_loss, weight, "objective.lambda")


def mixed_loss(policy_loss: Tensor, likelihood_loss: Tensor, share: float) -> Tensor:
    """Return the policy gradient's loss with a share of likelihood on the same decoder, to steady it."""
    return _mixed(likelihood_loss, policy_loss, share, "objective.likelihood_share")


def _mixed(part: Tensor, rest: Tensor, share: float, name: str) -> Tensor:
    if not 0 <= share <= 1:
        raise ConfigError([f"{name} is {share}; it must lie in [0, 1]"])
    return (1 - share) * rest + share * part
