"""Binary relevance (BR): one linear classifier per label on TF-IDF features.

The paper's first baseline, and an honest one: its C and its decision threshold are tuned on the validation
split. A run that was stopped goes on after the last C that was finished, to the same result.

Shapes: N documents, F terms, L labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Progress
from seq2set.core.sparse import CompressedRows
from seq2set.labels.calibration import Sigmoid, fit_sigmoid
from seq2set.models.linear import LinearScorer, LinearTagger, restore_common
from seq2set.models.linear_fitting import ScoredFit, find_best_c, prepare_matrices, score_zero_margin
from seq2set.models.predictions import Scores
from seq2set.models.tagger import Examples, ModelState


class _Classifiers(NamedTuple):
    scorer: LinearScorer
    sigmoid: Sigmoid


def train_br(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> BinaryRelevance:
    """Fit for each C on `train`, tune the threshold on `valid`, and return the best model found."""
    data = prepare_matrices(config, train, valid, run, progress)

    def fit(c: float) -> ScoredFit[_Classifiers]:
        scorer = data.fit_or_resume("linear", c, "one classifier per label")
        margins = scorer.margins(data.valid)
        sigmoid = fit_sigmoid(margins, data.valid_targets.toarray())
        return ScoredFit(_Classifiers(scorer, sigmoid), sigmoid(margins), score_zero_margin(sigmoid))

    best = find_best_c(data, fit)
    return BinaryRelevance(config, data.features, data.labels, best.rule, best.c, *best.machine)


@dataclass(frozen=True)
class BinaryRelevance(LinearTagger):
    """A trained BR model."""

    scorer: LinearScorer
    sigmoid: Sigmoid

    def scores(self, features: CompressedRows) -> Scores:
        """Return the margins' probabilities."""
        return self.sigmoid(self.scorer.margins(features))

    def label_weights(self, vector: CompressedRows, label: int) -> npt.NDArray[np.float32]:  # noqa: ARG002
        """Return the weights of the label's classifier, the same for every document."""
        return self.scorer.weights[:, label]

    def state(self) -> ModelState:
        """Return what is saved of it."""
        return self.build_state(self.scorer.tensors(), {"sigmoid": self.sigmoid._asdict()})

    @classmethod
    def from_state(cls, state: ModelState) -> BinaryRelevance:
        """Restore from a saved state."""
        scorer = LinearScorer.from_tensors(state.tensors)
        return cls(*restore_common(state), scorer, Sigmoid(**state.fitted["sigmoid"]))
