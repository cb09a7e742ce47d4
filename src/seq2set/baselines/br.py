"""Binary relevance (BR): one linear classifier a label on TF-IDF features.

The paper's first baseline, and an honest one: its C and its decision threshold are tuned on the
validation split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.baselines.linear import LinearScorer
from seq2set.baselines.tagging import Common, LinearTagger
from seq2set.calibration import Sigmoid
from seq2set.predictions import Scores
from seq2set.tagger import Parts


@dataclass(frozen=True)
class BinaryRelevance(LinearTagger):
    """A trained BR model."""

    scorer: LinearScorer
    sigmoid: Sigmoid

    def scores(self, features: csr_matrix) -> Scores:
        """Return the margins' probabilities."""
        return self.sigmoid(self.scorer.margins(features))

    def label_weights(self, vector: csr_matrix, label: int) -> npt.NDArray[np.float32]:  # noqa: ARG002
        """Return the weights of the label's classifier, the same for every document."""
        return self.scorer.weights[:, label]

    def own_tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the classifiers."""
        return {"linear.weights": self.scorer.weights, "linear.bias": self.scorer.bias}

    def own_facts(self) -> dict[str, Any]:
        """Return the calibration."""
        return {"sigmoid": self.sigmoid._asdict()}

    @classmethod
    def restore(cls, parts: Parts) -> BinaryRelevance:
        """Put a model together again."""
        scorer = LinearScorer(parts.tensors["linear.weights"], parts.tensors["linear.bias"])
        return cls(*Common.of(parts), scorer, Sigmoid(**parts.facts["sigmoid"]))
