"""Margins become probabilities: Platt's sigmoid, one slope and one offset for all labels.

One sigmoid for all labels keeps their order across labels, so that a threshold on the
probabilities is exactly a threshold on the margins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

Reals = npt.NDArray[np.float32]


class Sigmoid(NamedTuple):
    """A margin m has the probability 1 / (1 + exp(-(slope * m + offset)))."""

    slope: float
    offset: float

    def __call__(self, margins: Reals) -> Reals:
        """Return the margins' probabilities."""
        return np.asarray(expit(np.float32(self.slope) * margins + np.float32(self.offset)), np.float32)


def fit_sigmoid(margins: Reals, targets: npt.NDArray[np.bool_]) -> Sigmoid:
    """Fit slope and offset by maximum likelihood on Platt's smoothed targets.

    Falls back to the plain sigmoid where there is nothing to fit: no margins, or all of one kind.
    """
    x, y = margins.ravel().astype(np.float64), targets.ravel()
    positives = int(y.sum())
    negatives = len(y) - positives
    if not (positives and negatives):
        return Sigmoid(1.0, 0.0)
    # Platt's targets: one virtual example of each kind keeps separable data finite.
    wanted = np.where(y, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def compute_loss(beta: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        logit = beta[0] * x + beta[1]
        error = expit(logit) - wanted
        loss = np.mean(np.logaddexp(0, logit) - wanted * logit)
        return float(loss), np.array([np.mean(error * x), np.mean(error)])

    start = np.array([1.0, np.log((positives + 1) / (negatives + 1))])
    # scikit-learn's own `_sigmoid_calibration` is private. The tolerance makes float32 of the result exact.
    slope, offset = minimize(compute_loss, start, jac=True, method="BFGS", options={"gtol": 1e-10}).x
    # A negative slope would turn the classifier's order round: the margins say nothing then.
    return Sigmoid(float(slope), float(offset)) if slope > 0 else Sigmoid(1.0, 0.0)
