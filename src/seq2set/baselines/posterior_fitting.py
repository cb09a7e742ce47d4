"""How sharp the softmax over label combinations is: one number, the likeliest for the validation labels.

Shapes: N documents, K combinations, L labels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_matrix

from seq2set.baselines.linear import Reals
from seq2set.baselines.posterior import Posterior

SHARPEST = 1000.0
"""The largest scale; at the smallest, its inverse, all combinations are about as likely as each other."""
_CERTAIN = 1e-6
_EXACT = 0.01


def fit_posterior(holds: csr_matrix, margins: Reals, actual: npt.NDArray[np.bool_]) -> Posterior:
    """Find the scale under which the labels (N, L) that the documents really have are the likeliest."""

    def surprise(exponent: float) -> float:
        scores = Posterior(holds, float(np.exp(exponent))).labels(margins).astype(np.float64)
        right = np.where(actual, scores, 1 - scores)
        return -float(np.log(np.maximum(right, _CERTAIN)).mean())

    widest = float(np.log(SHARPEST))
    found = minimize_scalar(surprise, bounds=(-widest, widest), method="bounded", options={"xatol": _EXACT})
    return Posterior(holds, float(np.exp(found.x)))
