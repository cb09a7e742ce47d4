"""One linear classifier a label, in use.

Shapes: N documents, F terms, L labels, K of them with weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Reals = npt.NDArray[np.float32]


@dataclass(frozen=True)
class LinearScorer:
    """The weights of the labels: a margin is positive where the classifier says yes.

    Where there are fewer weights than labels, the last labels have their bias alone, in every document.
    """

    weights: Reals  # (F, K)
    bias: Reals  # (L,)

    def margins(self, features: csr_matrix) -> Reals:
        """Return every label's signed distance for every document: (N, L)."""
        weighed = features @ self.weights  # (N, F) x (F, K) -> (N, K)
        if missing := len(self.bias) - weighed.shape[1]:
            weighed = np.pad(weighed, ((0, 0), (0, missing)))  # (N, K) -> (N, L)
        return np.asarray(weighed + self.bias, dtype=np.float32)
