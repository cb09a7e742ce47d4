"""Margins become probabilities: Platt's sigmoid, one slope and one offset for all labels.

One sigmoid for all labels keeps their order across labels, so that a threshold on the
probabilities is exactly a threshold on the margins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float32]


class Sigmoid(NamedTuple):
    """A margin m has the probability 1 / (1 + exp(-(slope * m + offset)))."""

    slope: float
    offset: float

    def __call__(self, margins: Reals) -> Reals:
        """Return the margins' probabilities."""
        logits = np.float32(self.slope) * margins + np.float32(self.offset)
        return np.asarray(_compute_expit(logits.astype(np.float64)), np.float32)


def _compute_expit(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)), as SciPy's `expit`, which is not there where models are only used."""
    return np.asarray(np.exp(-np.logaddexp(0, -logits)))


def fit_sigmoid(margins: Reals, targets: npt.NDArray[np.bool_ | np.float32]) -> Sigmoid:
    """Fit slope and offset by maximum likelihood on Platt's smoothed targets, which may be probabilities.

    Falls back to the plain sigmoid where there is nothing to fit: no margins, or all of one kind.
    """
    from scipy.optimize import minimize

    x, y = margins.ravel().astype(np.float64), targets.ravel().astype(np.float64)
    positives = float(y.sum())
    negatives = len(y) - positives
    if not (positives and negatives):
        return Sigmoid(1.0, 0.0)
    # Platt's targets: one virtual example of each kind keeps separable data finite.
    wanted = y * ((positives + 1) / (positives + 2)) + (1 - y) * (1 / (negatives + 2))

    def compute_loss(beta: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        logit = beta[0] * x + beta[1]
        error = _compute_expit(logit) - wanted
        loss = np.mean(np.logaddexp(0, logit) - wanted * logit)
        return float(loss), np.array([np.mean(error * x), np.mean(error)])

    start = np.array([1.0, np.log((positives + 1) / (negatives + 1))])
    # scikit-learn's own `_sigmoid_calibration` is private. The tolerance makes float32 of the result exact.
    slope, offset = minimize(compute_loss, start, jac=True, method="BFGS", options={"gtol": 1e-10}).x
    # A negative slope would turn the classifier's order round: the margins say nothing then.
    return Sigmoid(float(slope), float(offset)) if slope > 0 else Sigmoid(1.0, 0.0)
