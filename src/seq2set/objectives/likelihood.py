"""Likelihood: the paper's L(phi), and the same without an order.

Letters: B documents, S steps.
"""

from __future__ import annotations

from torch import Tensor


def negative_log_likelihood(steps: Tensor) -> Tensor:
    """Return L(phi), the mean over documents of minus the log-probabilities (B, S) of their steps.

    Of a rollout along a given order, a step counts its label; of one without an order (`order_free`), it
    counts every label that is still right. Steps after `eos` are 0.
    """
    return -steps.sum(-1).mean()
