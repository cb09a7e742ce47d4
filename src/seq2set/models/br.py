"""Binary relevance (BR): one linear classifier per label on TF-IDF features.

The paper's first baseline, and an honest one: its C and its decision threshold are tuned on the validation
split, and so are its terms and the kind of its rule where the settings leave them open.

Shapes: N documents, F terms, L labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.catalog import is_better
from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Progress
from seq2set.core.sparse import CompressedRows
from seq2set.core.tensor_files import Forms
from seq2set.labels.best_rule import choose_kind
from seq2set.labels.calibration import Sigmoid, fit_sigmoid
from seq2set.labels.confidence.acceptance import UNCALIBRATED
from seq2set.labels.metrics import Counts
from seq2set.labels.rare_labels import find_crossed_thresholds
from seq2set.labels.rules import Rule, make_label_rule
from seq2set.models.linear.c_search import (
    FittedCandidate,
    ScoredFit,
    has_open_rule,
    score_zero_margin,
    search_c,
    try_rules,
)
from seq2set.models.linear.matrices import LinearTraining, list_term_kinds, prepare_matrices, read_texts
from seq2set.models.linear.scorer import LinearScorer, list_scorer_forms
from seq2set.models.linear.tagger import LinearTagger, list_feature_forms, restore_common
from seq2set.models.predictions import Scores
from seq2set.models.prior import FOLD_SEED, fold_documents
from seq2set.models.tagger import Examples, ModelState, Outline

FOLDS = 3
"""In how many parts the training documents are split to cross-validate thresholds."""

CROSSED = "crossed"
"""The kind of thresholds from documents scored out of fold, beside those of `find_best_rule`."""


class Classifiers(NamedTuple):
    """A fit at one C."""

    scorer: LinearScorer
    sigmoid: Sigmoid


def train_br(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> BinaryRelevance:
    """Fit for each C on `train`, tune the threshold on `valid`, and return the best model found.

    Its settings name the terms that it reads, where they were to be found.
    """
    read, best = read_texts(config, train, run), None
    kinds = {"": config} if config.linear.terms == "given" else list_term_kinds(config)
    for terms, own in kinds.items():
        matrices = prepare_matrices(own, train, valid, run, progress, read=read)
        data = replace(matrices, terms=terms)
        # Of all terms words alone have the smallest best C: the others go on from there.
        found = search_c(data, partial(_fit, data), 0.0 if best is None else best.c)
        if best is None or is_better(found.reached, best.reached, config.decision.metric):
            best, kept = found, data
    assert best is not None  # there is at least one kind of terms
    best = try_rules(kept, best)
    rule = _try_crossed_rule(kept, best, train) if has_open_rule(config) else best.rule
    return BinaryRelevance(kept.config, kept.features, kept.labels, rule, best.c, UNCALIBRATED, *best.machine)


def _fit(data: LinearTraining, c: float) -> ScoredFit[Classifiers]:
    scorer = data.fit_or_resume("linear", c, "one classifier per label")
    margins = scorer.margins(data.valid)
    sigmoid = fit_sigmoid(margins, data.valid_targets.toarray())
    return ScoredFit(Classifiers(scorer, sigmoid), sigmoid(margins), score_zero_margin(sigmoid))


def _try_crossed_rule(data: LinearTraining, best: FittedCandidate[Classifiers], train: Examples) -> Rule:
    """Return thresholds cross-validated on the training documents where validation says that they are better.

    Validation had no part in them, and the other rules are judged on documents held out from their tuning.
    """
    wanted = data.config.decision
    margins, fold = _score_out_of_fold(data, best.c, train)
    labelled = train.count_labelled()
    right = data.labels.indicator(train.label_sets[:labelled]).toarray()
    found = find_crossed_thresholds(margins[:labelled], right, fold[:labelled], wanted.metric)
    rule = make_label_rule(best.machine.sigmoid(found))
    crossed = Counts.of_known(rule.decide(best.scores), data.valid_actual).metrics()
    assert best.tuned is not None  # kinds were compared
    reached = best.tuned.list_reached(wanted.metric)
    other, kind = reached[best.tuned.kind], best.tuned.kind
    for metric in dict.fromkeys((wanted.metric, "macro_f1" if wanted.rule == "balanced" else wanted.metric)):
        data.progress.note(
            f"{metric} on validation: {crossed[metric]:.4f} by thresholds cross-validated on training "
            f"documents, {other[metric]:.4f} by the best of the other rules ({kind}), held out in turn"
        )
    balanced = wanted.rule == "balanced"
    winner = choose_kind(reached | {CROSSED: crossed}, wanted.metric, balanced=balanced)
    return rule if winner == CROSSED else best.rule


def _score_out_of_fold(
    data: LinearTraining, c: float, train: Examples
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Score each training document by classifiers that did not see its fold: margins (N, L), folds (N,)."""
    fold = fold_documents(FOLDS, data.train.shape[0], FOLD_SEED, train.groups)
    margins = np.zeros(data.train_targets.shape, np.float32)
    for number in np.unique(fold):
        held, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        rest = rest if len(rest) else held  # a single document cannot be held out from itself
        name, title = f"linear-fold-{number + 1}", f"without fold {number + 1} of {fold.max() + 1}"
        part = data.train[rest], data.train_targets[rest], None, data.weigh(rest)
        margins[held] = data.fit_or_resume(name, c, title, *part).margins(data.train[held])
    return margins, fold


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
        return list_feature_forms(outline, "features.") | list_scorer_forms("linear.", "F+E", "L")

    @classmethod
    def from_state(cls, state: ModelState) -> BinaryRelevance:
        """Restore from a saved state."""
        scorer = LinearScorer.from_tensors(state.tensors)
        return cls(*restore_common(state), scorer, Sigmoid(**state.fitted["sigmoid"]))
