"""Label powerset (LP): one linear classifier for each combination of labels that training saw.

Combinations become classes; the rarest are pruned. A softmax turns the classifiers' margins into a
probability for each combination; a label's is the sum over those that hold it, and the rule decides on these
scores. So scores and sets agree, thresholds can be tuned, and a set that no training document had can be
given. The boundary between yes and no is a score of 0.5.

Shapes: N documents, F terms, K combinations, L labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError
from seq2set.core.progress import Progress
from seq2set.core.sparse import CompressedRows, SparseRows, find_rows
from seq2set.core.tensor_files import Forms, TensorForm
from seq2set.labels.confidence.acceptance import UNCALIBRATED
from seq2set.models.label_combinations import Combinations, find_combinations
from seq2set.models.linear.c_search import ScoredFit, find_best_c
from seq2set.models.linear.matrices import prepare_matrices
from seq2set.models.linear.scorer import LinearScorer, Reals, list_scorer_forms
from seq2set.models.linear.tagger import LinearTagger, list_feature_forms, restore_common
from seq2set.models.predictions import Scores
from seq2set.models.tagger import Examples, ModelState, Outline

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DOCUMENTS_AT_A_TIME = 1024
"""Bounds the memory of the combinations' margins."""

SHARPEST = 1000.0
"""The largest scale; at the smallest, its inverse, all combinations are about as likely as each other."""
_CERTAIN = 1e-6
_EXACT = 0.01


def train_lp(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> LabelPowerset:
    """Fit for each C on `train`, tune the threshold on `valid`, and return the best model found."""
    from scipy.sparse import identity

    data = prepare_matrices(config, train, valid, run, progress, config.powerset.max_features)
    found = _find_combinations(config, data.train_targets, progress)
    learnt = np.flatnonzero(found.classes >= 0)
    targets = identity(found.holds.shape[0], bool, "csr")[found.classes[learnt]]
    features = data.train[learnt]

    def fit(c: float) -> ScoredFit[tuple[LinearScorer, Posterior]]:
        title = "one classifier per label combination"
        scorer = data.fit_or_resume("powerset", c, title, features, targets, weights=data.weigh(learnt))
        # Calibrate on documents spread over the validation split, as many as are scored at a time.
        size = data.valid.shape[0]
        rows = np.unique(np.linspace(0, size - 1, min(size, DOCUMENTS_AT_A_TIME)).round().astype(np.int64))
        posterior = fit_posterior(
            found.holds, scorer.margins(data.valid[rows]), data.valid_targets[rows].toarray()
        )
        return ScoredFit((scorer, posterior), score_powerset(scorer, posterior, data.valid), 0.5)

    best = find_best_c(data, fit)
    return LabelPowerset(
        config, data.features, data.labels, best.rule, best.c, UNCALIBRATED, *best.machine, found.counts()
    )


def _find_combinations(config: Config, targets: csr_matrix, progress: Progress) -> Combinations:
    most, least = config.powerset.max_combinations, config.powerset.min_documents
    found = find_combinations(targets, most=most, least=least)
    if not found.holds.shape[0]:
        raise ConfigError(
            [f"powerset.min_documents is {least}; no label combination has that many documents"]
        )
    if found.pruned:
        progress.note(
            f"{found.holds.shape[0]:,} label combinations are kept and {found.pruned:,} pruned; of their "
            f"documents {found.cut:,} count for a part of their labels, {found.left_out:,} are left out"
        )
    return found


@dataclass(frozen=True)
class Posterior:
    """How likely combinations, and the labels in them, are."""

    holds: CompressedRows  # (K, L)
    scale: float

    def combinations(self, margins: Reals) -> Reals:
        """Return each combination's probability: (N, K) -> (N, K)."""
        scaled = np.float32(self.scale) * margins
        likely = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True), np.float32)

    def labels(self, margins: Reals) -> Scores:
        """Return each label's probability: (N, K) -> (N, L)."""
        likely, scores = self.combinations(margins), np.zeros((len(margins), self.holds.shape[1]), np.float32)
        order = np.argsort(self.holds.indices, kind="stable")
        holder = find_rows(self.holds)[order]  # the combinations that hold the first label, the second, ...
        labels, starts = np.unique(self.holds.indices[order], return_index=True)
        for row, chances in zip(scores, likely, strict=True):
            row[labels] = np.add.reduceat(chances[holder], starts) if len(starts) else 0
        return np.clip(scores, 0, 1)


def fit_posterior(holds: CompressedRows, margins: Reals, actual: npt.NDArray[np.bool_]) -> Posterior:
    """Find the scale under which the labels (N, L) that the documents really have are the likeliest."""
    from scipy.optimize import minimize_scalar

    def measure_surprise(exponent: float) -> float:
        scores = Posterior(holds, float(np.exp(exponent))).labels(margins).astype(np.float64)
        right = np.where(actual, scores, 1 - scores)
        return -float(np.log(np.maximum(right, _CERTAIN)).mean())

    widest = float(np.log(SHARPEST))
    found = minimize_scalar(
        measure_surprise, bounds=(-widest, widest), method="bounded", options={"xatol": _EXACT}
    )
    return Posterior(holds, float(np.exp(found.x)))


@dataclass(frozen=True)
class LabelPowerset(LinearTagger):
    """A trained LP model."""

    scorer: LinearScorer  # one column per combination
    posterior: Posterior
    combinations: Mapping[str, int]
    """How many combinations and documents were kept and pruned."""

    def scores(self, features: CompressedRows) -> Scores:
        """Return every label's probability over the combinations."""
        return score_powerset(self.scorer, self.posterior, features)

    def label_weights(self, vector: CompressedRows, label: int) -> npt.NDArray[np.float32]:
        """Return the weights of the combinations that hold the label, the likelier ones weighing more."""
        likely = self.posterior.combinations(self.scorer.margins(vector))[0]
        holds = self.posterior.holds
        held = likely * np.bincount(find_rows(holds)[holds.indices == label], minlength=len(likely))  # (K,)
        weights = np.zeros(vector.shape[1], np.float32)
        # All terms of all combinations would be hundreds of megabytes; only the text's own matter.
        weights[vector.indices] = self.scorer.weights[vector.indices] @ held.astype(np.float32)
        return weights

    def state(self) -> ModelState:
        """Return what is saved of it: the labels of the combinations stand one after the other."""
        tensors: dict[str, npt.NDArray[Any]] = {
            **self.scorer.tensors(),
            "combinations.labels": self.posterior.holds.indices.astype(np.int32),
            "combinations.ends": self.posterior.holds.indptr.astype(np.int64),
        }
        fitted = {"scale": self.posterior.scale, "combinations": dict(self.combinations)}
        return self.build_state(tensors, fitted)

    @classmethod
    def list_forms(cls, outline: Outline, runtime: str) -> Forms:  # noqa: ARG003 (the same on any)
        """Return the forms of what is saved of it."""
        return {
            **list_feature_forms(outline, "features."),
            **list_scorer_forms("linear.", "F+E", "K"),
            "combinations.labels": TensorForm("I32", ("N",)),
            "combinations.ends": TensorForm("I64", ("K+1",)),
        }

    @classmethod
    def from_state(cls, state: ModelState) -> LabelPowerset:
        """Restore from a saved state."""
        scorer = LinearScorer.from_tensors(state.tensors)
        labels, ends = state.tensors["combinations.labels"], state.tensors["combinations.ends"]
        inside = not len(labels) or 0 <= labels.min() <= labels.max() < len(state.labels)
        if not inside or len(ends) < 2 or ends[0] or ends[-1] != len(labels) or (np.diff(ends) < 0).any():
            raise ValueError("the label combinations do not name labels of the model")
        holds = SparseRows(np.ones(len(labels), np.float32), labels, ends, len(state.labels))
        posterior = Posterior(holds, state.fitted["scale"])
        return cls(*restore_common(state), scorer, posterior, state.fitted["combinations"])


def score_powerset(scorer: LinearScorer, posterior: Posterior, features: Any) -> Scores:
    """Score the labels of documents, rows of either kind, some at a time: (N, F) -> (N, L)."""
    scores = np.zeros((features.shape[0], posterior.holds.shape[1]), np.float32)
    for start in range(0, features.shape[0], DOCUMENTS_AT_A_TIME):
        block = slice(start, start + DOCUMENTS_AT_A_TIME)
        scores[block] = posterior.labels(scorer.margins(features[block]))
    return scores
