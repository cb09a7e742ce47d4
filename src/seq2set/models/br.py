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
from seq2set.config.catalog import is_better
from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Progress
from seq2set.core.sparse import CompressedRows
from seq2set.core.tensor_files import Forms
from seq2set.labels.calibration import Sigmoid, fit_sigmoid
from seq2set.labels.confidence.acceptance import UNCALIBRATED
from seq2set.labels.crossed_thresholds import find_crossed_thresholds
from seq2set.labels.metrics import Counts
from seq2set.labels.rules import Rule, make_label_rule
from seq2set.models.linear import (
    LinearScorer,
    LinearTagger,
    list_feature_forms,
    list_scorer_forms,
    restore_common,
)
from seq2set.models.linear_fitting import (
    FittedCandidate,
    LinearTraining,
    ScoredFit,
    find_best_c,
    has_open_rule,
    prepare_matrices,
    score_zero_margin,
)
from seq2set.models.predictions import Scores
from seq2set.models.prior import fold_documents
from seq2set.models.tagger import Examples, ModelState, Outline

FOLDS = 3
"""In how many parts the training documents are split to cross-validate thresholds."""

FOLD_SEED = 1
"""Draws those parts. It is none of a run's seeds, so that one training stands for all of them."""


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
    rule = _try_crossed_rule(data, best, train) if has_open_rule(config) else best.rule
    return BinaryRelevance(config, data.features, data.labels, rule, best.c, UNCALIBRATED, *best.machine)


def _try_crossed_rule(data: LinearTraining, best: FittedCandidate[_Classifiers], train: Examples) -> Rule:
    """Return thresholds cross-validated on the training documents where validation says that they are better.

    Validation had no part in them, and the other rule is judged on documents held out from its tuning.
    """
    metric = data.config.decision.metric
    documents = data.train.shape[0]
    fold = fold_documents(FOLDS, documents, FOLD_SEED, train.groups)
    margins = np.zeros(data.train_targets.shape, np.float32)
    for number in np.unique(fold):
        held, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        rest = rest if len(rest) else held  # a single document cannot be held out from itself
        name, title = f"linear-fold-{number + 1}", f"without fold {number + 1} of {fold.max() + 1}"
        part = data.train[rest], data.train_targets[rest], None, data.weigh(rest)
        margins[held] = data.fit_or_resume(name, best.c, title, *part).margins(data.train[held])
    labelled = train.count_labelled()
    right = data.labels.indicator(train.label_sets[:labelled]).toarray()
    found = find_crossed_thresholds(margins[:labelled], right, fold[:labelled], metric)
    thresholds = best.machine.sigmoid(found)
    rule = make_label_rule(thresholds)
    reached = Counts.of_known(rule.decide(best.scores), data.valid_actual).metrics()[metric]
    assert best.held_out is not None  # kinds were compared
    better = is_better(reached, best.held_out, metric)
    data.progress.note(
        f"{metric} on validation: {reached:.4f} by thresholds cross-validated on training documents, "
        f"{best.held_out:.4f} by the best of the other rules ({best.rule.kind}), held out in turn"
    )
    return rule if better else best.rule


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
    def list_forms(cls, outline: Outline, runtime: str) -> Forms:  # noqa: ARG003 (the same on any)
        """Return the forms of what is saved of it."""
        return {
            **list_feature_forms(outline, "features."),
            **list_scorer_forms("linear.", "F+E", "L"),
        }

    @classmethod
    def from_state(cls, state: ModelState) -> BinaryRelevance:
        """Restore from a saved state."""
        scorer = LinearScorer.from_tensors(state.tensors)
        return cls(*restore_common(state), scorer, Sigmoid(**state.fitted["sigmoid"]))
