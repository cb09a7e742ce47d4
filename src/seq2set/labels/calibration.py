"""Margins become probabilities: Platt's sigmoid, one slope and one offset for all labels.

One sigmoid for all labels keeps their order across labels, so that a threshold on the
probabilities is exactly a threshold on the margins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

Reals = npt.NDArray[np.float32]

_STEPS = 50
_TINY = 1e-10


class Sigmoid(NamedTuple):
    """A margin m has the probability 1 / (1 + exp(-(slope * m + offset)))."""

    slope: float
    offset: float

    def __call__(self, margins: Reals) -> Reals:
        """Return the margins' probabilities."""
        return np.asarray(expit(np.float32(self.slope) * margins + np.float32(self.offset)), np.float32)


def fit_sigmoid(margins: Reals, targets: npt.NDArray[np.bool_]) -> Sigmoid:
    """Fit slope and offset by Newton's method on Platt's smoothed targets.

    Falls back to the plain sigmoid where there is nothing to fit: no margins, or all of one kind.
    """
    x, y = margins.ravel().astype(np.float64), targets.ravel()
    positives = int(y.sum())
    if not 0 < positives < len(y):
        return Sigmoid(1.0, 0.0)
    # Platt's targets: one virtual example of each kind keeps separable data finite.
    wanted = np.where(y, (positives + 1) / (positives + 2), 1 / (len(y) - positives + 2))
    beta = np.array([1.0, np.log((positives + 1) / (len(y) - positives + 1))])
    loss = _loss(beta, x, wanted)
    for _ in range(_STEPS):
        step = _newton_step(beta, x, wanted)
        size = 1.0
        while size > _TINY and _loss(beta - size * step, x, wanted) > loss:
            size /= 2
        beta = beta - size * step
        before, loss = loss, _loss(beta, x, wanted)
        if before - loss <= _TINY * abs(before):
            break
    # A negative slope would turn the classifier's order round: the margins say nothing then.
    return Sigmoid(float(beta[0]), float(beta[1])) if beta[0] > 0 else Sigmoid(1.0, 0.0)


def _loss(
    beta: npt.NDArray[np.float64], x: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]
) -> float:
    logit = beta[0] * x + beta[1]
    return float(np.mean(np.logaddexp(0, logit) - wanted * logit))


def _newton_step(
    beta: npt.NDArray[np.float64], x: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    p = expit(beta[0] * x + beta[1])
    error, weight = p - wanted, p * (1 - p)
    gradient = np.array([np.mean(error * x), np.mean(error)])
    cross = np.mean(weight * x)
    curvature = np.array([[np.mean(weight * x * x), cross], [cross, np.mean(weight)]]) + _TINY * np.eye(2)
    return np.linalg.solve(curvature, gradient)
