"""Binary relevance (BR): one linear classifier a label on TF-IDF features.

The paper's first baseline, and an honest one: its C and its decision threshold are tuned on the
validation split.

Training binary relevance: fit for each C, tune the threshold on validation, keep the best.

A run that was stopped goes on after the last C that was finished, to the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Progress
from seq2set.labels.calibration import Sigmoid, fit_sigmoid
from seq2set.models.linear import Common, LinearScorer, LinearTagger
from seq2set.models.linear_fitting import Scored, best_candidate, fitted_or_found, prepare, undecided
from seq2set.models.predictions import Scores
from seq2set.models.tagger import Examples, ModelState


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
    def from_state(cls, state: ModelState) -> BinaryRelevance:
        """Restore from a saved state."""
        scorer = LinearScorer(state.tensors["linear.weights"], state.tensors["linear.bias"])
        return cls(*Common.of(state), scorer, Sigmoid(**state.fitted["sigmoid"]))


class _Machine(NamedTuple):
    scorer: LinearScorer
    sigmoid: Sigmoid


def train_br(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> BinaryRelevance:
    """Train on `train`, tune on `valid`, and return the best model found."""
    data = prepare(config, train, valid, progress)

    def fit(c: float) -> Scored[_Machine]:
        scorer = fitted_or_found(
            run.checkpoints / f"linear-c-{c:g}.safetensors",
            config,
            data.train,
            data.train_targets,
            c=c,
            title="one classifier a label",
            progress=progress,
        )
        margins = scorer.margins(data.valid)
        sigmoid = fit_sigmoid(margins, data.valid_targets.toarray())
        return Scored(_Machine(scorer, sigmoid), sigmoid(margins), undecided(sigmoid))

    best = best_candidate(config, data, run, fit)
    return BinaryRelevance(config, data.features, data.labels, best.rule, best.c, *best.machine)
