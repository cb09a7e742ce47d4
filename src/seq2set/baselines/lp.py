"""Label powerset (LP): one linear classifier for each combination of labels that training saw.

A label's score is its probability over all combinations, and the rule decides on those scores: so scores and
sets agree, thresholds can be tuned, and a set that no training document had can be given. The boundary
between yes and no is a score of 0.5.

Shapes: N documents, F terms, K combinations, L labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.baselines.linear import LinearScorer
from seq2set.baselines.posterior import Posterior
from seq2set.baselines.tagging import Common, LinearTagger
from seq2set.predictions import Scores
from seq2set.tagger import Parts

DOCUMENTS_AT_A_TIME = 1024
"""Bounds the memory of the combinations' margins."""


@dataclass(frozen=True)
class LabelPowerset(LinearTagger):
    """A trained LP model."""

    scorer: LinearScorer  # one column a combination
    posterior: Posterior
    combinations: Mapping[str, int]
    """How many combinations and documents were kept and pruned."""

    def scores(self, features: csr_matrix) -> Scores:
        """Return every label's probability over the combinations."""
        return powerset_scores(self.scorer, self.posterior, features)

    def label_weights(self, vector: csr_matrix, label: int) -> npt.NDArray[np.float32]:
        """Return the weights of the combinations that hold the label, the likelier ones weighing more."""
        likely = self.posterior.combinations(self.scorer.margins(vector))[0]
        held = likely * self.posterior.holds[:, [label]].toarray().ravel()  # (K,)
        weights = np.zeros(len(self.features), np.float32)
        # All terms of all combinations would be hundreds of megabytes; only the text's own matter.
        weights[vector.indices] = self.scorer.weights[vector.indices] @ held
        return weights

    def own_tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the classifiers, and the labels of each combination one after the other."""
        return {
            "linear.weights": self.scorer.weights,
            "linear.bias": self.scorer.bias,
            "combinations.labels": self.posterior.holds.indices.astype(np.int32),
            "combinations.ends": self.posterior.holds.indptr.astype(np.int64),
        }

    def own_facts(self) -> dict[str, Any]:
        """Return the calibration, and what was pruned."""
        return {"scale": self.posterior.scale, "combinations": dict(self.combinations)}

    @classmethod
    def restore(cls, parts: Parts) -> LabelPowerset:
        """Put a model together again."""
        scorer = LinearScorer(parts.tensors["linear.weights"], parts.tensors["linear.bias"])
        labels, ends = parts.tensors["combinations.labels"], parts.tensors["combinations.ends"]
        shape = (len(ends) - 1, len(parts.labels))
        holds = csr_matrix((np.ones(len(labels), np.float32), labels, ends), shape=shape)
        posterior = Posterior(holds, parts.facts["scale"])
        return cls(*Common.of(parts), scorer, posterior, parts.facts["combinations"])


def powerset_scores(scorer: LinearScorer, posterior: Posterior, features: csr_matrix) -> Scores:
    """Score the labels of documents, some at a time: (N, F) -> (N, L)."""
    scores = np.zeros((features.shape[0], posterior.holds.shape[1]), np.float32)
    for start in range(0, features.shape[0], DOCUMENTS_AT_A_TIME):
        block = slice(start, start + DOCUMENTS_AT_A_TIME)
        scores[block] = posterior.labels(scorer.margins(features[block]))
    return scores
