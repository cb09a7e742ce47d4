"""From margins of label combinations to probabilities of labels.

A softmax turns the margins into a probability for each combination; a label's is the sum over those that
hold it.

Shapes: N documents, K combinations, L labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import softmax

from seq2set.baselines.linear import Reals
from seq2set.predictions import Scores


@dataclass(frozen=True)
class Posterior:
    """How likely combinations, and the labels in them, are."""

    holds: csr_matrix  # (K, L)
    scale: float

    def combinations(self, margins: Reals) -> Reals:
        """Return each combination's probability: (N, K) -> (N, K)."""
        return np.asarray(softmax(np.float32(self.scale) * margins, axis=1), np.float32)

    def labels(self, margins: Reals) -> Scores:
        """Return each label's probability: (N, K) -> (N, L)."""
        summed = self.combinations(margins) @ self.holds  # (N, K) x (K, L) -> (N, L)
        return np.ascontiguousarray(np.clip(summed, 0, 1), np.float32)
