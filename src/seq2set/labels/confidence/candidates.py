"""Fit calibrators on validation, and choose one of them by what it does on documents held out in turn.

Every candidate is fitted without each fold of the documents and judged on it by proper scores, which are
best for the true probabilities and for nothing else. Where there are very many scores, only some of the low
ones of wrong labels are looked at, and count for the rest.

Shapes: N documents, L labels, P pairs of a document and a label.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.labels.confidence.calibrators import (
    FEATURES,
    IDENTITY,
    Calibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    PlainCalibrator,
    Scores,
    Steps,
    clip_scores,
)

Reals = npt.NDArray[np.float64]

MOST_PAIRS = 300_000
LOW = 0.02
"""Below this score pairs are looked at in part, where there are many."""
OFFSET_SD = 0.5
"""How far, in logits, labels are expected to differ: the offset of a rare label shrinks to none."""
OWN_LEAST, OWN_WEIGHT = 20, 40
"""How many documents a label must have for a line of its own, and for one that outweighs the shared line"""


class Pairs(NamedTuple):
    """Pairs of a document and a label, each (P,)."""

    scores: Scores
    margins: Scores
    labels: npt.NDArray[np.intp]
    right: npt.NDArray[np.bool_]
    weights: Reals
    """For how many pairs each stands"""
    fold: npt.NDArray[np.int64]

    def pick(self, chosen: npt.NDArray[np.bool_]) -> Pairs:
        """Return some of them."""
        return Pairs._make(part[chosen] for part in self)

    def apply(self, calibrator: Calibrator) -> Reals:
        """Return the probabilities that a calibrator gives them."""
        return calibrator(self.scores, self.margins, self.labels).astype(np.float64)


class CalibrationSample(NamedTuple):
    """What a model made of validation documents, and what is right."""

    scores: Scores  # (N, L)
    margins: Scores | None  # (N, L)
    right: npt.NDArray[np.bool_]  # (N, L)
    fold: npt.NDArray[np.int64]  # (N,)

    def pick(self, kept: npt.NDArray[np.bool_]) -> CalibrationSample:
        """Return some of the documents."""
        margins = None if self.margins is None else self.margins[kept]
        return CalibrationSample(self.scores[kept], margins, self.right[kept], self.fold[kept])

    def can_hold_out(self) -> bool:
        """Say whether the documents without each fold have labels that are right, and others that are not."""
        rests = [self.right[self.fold != number] for number in np.unique(self.fold)]
        return all(rest.any() and not rest.all() for rest in rests)

    def pairs(self) -> Pairs:
        """Return the pairs to fit on."""
        kept, weights = np.ones(self.scores.size, bool), np.ones(self.scores.size)
        low = np.flatnonzero((self.scores < LOW).ravel() & ~self.right.ravel())
        if self.scores.size > MOST_PAIRS and len(low):
            step = max(1, len(low) * 2 // MOST_PAIRS)
            kept[low] = False
            kept[low[::step]] = True
            weights[low[::step]] = len(low) / len(low[::step])
        documents, labels = np.divmod(np.flatnonzero(kept), self.scores.shape[1])
        margins = np.zeros(len(labels), np.float32) if self.margins is None else self.margins.ravel()[kept]
        scores, right = self.scores.ravel()[kept], self.right.ravel()[kept]
        return Pairs(scores, margins, labels, right, weights[kept], self.fold[documents])


def fit_logistic(pairs: Pairs, features: tuple[str, ...], *, offset: bool = True) -> LogisticCalibrator:
    """Fit weights of features; where the score alone is weighed, weights below 0 are dropped."""
    weights, bias = _regress(pairs, features, offset=offset)
    falling = [name for name, weight in zip(features, weights, strict=True) if weight < 0]
    if falling and len(falling) < len(features) and "margin_square" not in features:
        kept = tuple(name for name in features if name not in falling)
        return fit_logistic(pairs, kept, offset=offset)
    return LogisticCalibrator(dict(zip(features, map(float, weights), strict=True)), bias[0])


def fit_label_offsets(pairs: Pairs, features: tuple[str, ...], labels: int) -> LogisticCalibrator:
    """Fit weights of features, and an offset per label that shrinks to none the rarer the label is."""
    weights, bias = _regress(pairs, features, labels=labels)
    named = dict(zip(features, map(float, weights), strict=True))
    return LogisticCalibrator(named, bias[0], tuple(bias[1:]))


def _regress(
    pairs: Pairs, features: tuple[str, ...], *, offset: bool = True, labels: int = 0
) -> tuple[Reals, list[float]]:
    from scipy.sparse import csr_matrix, hstack
    from sklearn.linear_model import LogisticRegression

    known, margins = clip_scores(pairs.scores), pairs.margins.astype(np.float64)
    columns = np.stack([FEATURES[name](known, margins) for name in features], axis=1)
    spread = columns.std(axis=0)
    scale = np.where(spread > 1e-6, spread, 1.0)
    matrix = columns / scale
    if labels:
        shape = len(known), labels
        one_hot = csr_matrix((np.full(len(known), OFFSET_SD), (np.arange(len(known)), pairs.labels)), shape)
        matrix = hstack([csr_matrix(matrix), one_hot], format="csr")
    machine = LogisticRegression(C=1.0, fit_intercept=offset, max_iter=1000, tol=1e-6)
    machine.fit(matrix, pairs.right, sample_weight=pairs.weights)
    found = machine.coef_[0]
    bias = float(machine.intercept_[0]) if offset else 0.0
    return found[: len(features)] / scale, [bias, *(OFFSET_SD * found[len(features) :]).tolist()]


def fit_isotonic(pairs: Pairs, labels: int = 0, features: tuple[str, ...] = ()) -> IsotonicCalibrator:
    """Fit a rising line for all labels and, for the first `labels` that are frequent enough, one of each.

    Where features are named, the lines are over what they make together.
    """
    first = fit_logistic(pairs, features) if features else None
    pairs = pairs if first is None else pairs._replace(scores=pairs.apply(first).astype(np.float32))
    shared, own, shares = _fit_line(pairs), {}, {}
    times = np.bincount(pairs.labels[pairs.right], minlength=labels)[:labels]
    for label in np.flatnonzero(times >= OWN_LEAST).tolist():
        own[label] = _fit_line(pairs.pick(pairs.labels == label))
        shares[label] = float(times[label] / (times[label] + OWN_WEIGHT))
    return IsotonicCalibrator(shared, own, shares, first)


def _fit_line(pairs: Pairs) -> Steps:
    from sklearn.isotonic import IsotonicRegression

    scores, machine = clip_scores(pairs.scores), IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    # One more wrong at the top and one more right at the bottom: without an error seen, none is not likely.
    ends = np.append(scores, [scores.max(), scores.min()])
    machine.fit(ends, np.append(pairs.right, [0, 1]), sample_weight=np.append(pairs.weights, [1, 1]))
    return Steps(machine.X_thresholds_.tolist(), machine.y_thresholds_.tolist())


class Way(NamedTuple):
    """A way to calibrate: by weighed features, by isotonic lines over these or over scores, or not at all."""

    features: tuple[str, ...] = ()
    offset: bool = True
    per_label: bool = False
    lines: bool = False
    as_is: bool = False

    def fit(self, pairs: Pairs, labels: int) -> PlainCalibrator:
        """Fit it on pairs of `labels` labels."""
        if self.as_is:
            return IDENTITY
        if self.lines:
            return fit_isotonic(pairs, labels if self.per_label else 0, self.features)
        if self.per_label:
            return fit_label_offsets(pairs, self.features, labels)
        return fit_logistic(pairs, self.features, offset=self.offset)


_BETA, _MARGIN = ("log", "log_rest"), ("log", "score", "margin_square")
WAYS = {
    "identity": Way(as_is=True),
    "temperature": Way(("logit",), offset=False),
    "platt": Way(("logit",)),
    "beta": Way(_BETA),
    "beta-per-label": Way(_BETA, per_label=True),
    "isotonic": Way(lines=True),
    "isotonic-per-label": Way(lines=True, per_label=True),
    "margin": Way(_MARGIN),
    "margin-per-label": Way(_MARGIN, per_label=True),
    "margin-isotonic-per-label": Way(_MARGIN, lines=True, per_label=True),
}
"""The candidates by name, the simplest first; those that weigh a margin are for models with a linear prior"""


class ProperScores(NamedTuple):
    """How good probabilities are on documents held out from their fitting; the smaller, the better."""

    brier: float
    log_loss: float


class Candidate(NamedTuple):
    """A way to calibrate, fitted on all documents."""

    name: str
    calibrator: PlainCalibrator
    held_out: ProperScores
    probabilities: Scores
    """Of the documents (N, L), each by a calibrator that was fitted without its fold"""


def fit_candidates(sample: CalibrationSample) -> list[Candidate]:
    """Fit all ways to calibrate, the best first by the log loss on held-out documents."""
    pairs, labels = sample.pairs(), sample.scores.shape[1]
    found = [
        _try(name, way, sample, pairs, labels)
        for name, way in WAYS.items()
        if sample.margins is not None or way.features != _MARGIN
    ]
    return sorted(found, key=lambda one: one.held_out.log_loss)


def cross_fit(name: str, sample: CalibrationSample) -> Scores:
    """Return the probabilities (N, L) of documents, each by a calibrator fitted without its fold."""
    return _try(name, WAYS[name], sample, sample.pairs(), sample.scores.shape[1]).probabilities


def _try(name: str, way: Way, sample: CalibrationSample, pairs: Pairs, labels: int) -> Candidate:
    probabilities, chances = np.zeros(sample.scores.shape, np.float32), np.zeros(len(pairs.scores))
    for number in np.unique(sample.fold):
        rest, held, rows = pairs.fold != number, pairs.fold == number, sample.fold == number
        machine = way.fit(pairs.pick(rest), labels)
        chances[held] = pairs.pick(held).apply(machine)
        margins = None if sample.margins is None else sample.margins[rows]
        probabilities[rows] = machine(sample.scores[rows], margins)
    return Candidate(name, way.fit(pairs, labels), score_probabilities(chances, pairs), probabilities)


def score_probabilities(chances: Reals, pairs: Pairs) -> ProperScores:
    """Return the Brier score and the log loss of the probabilities of pairs (P,)."""
    missed = np.where(pairs.right, 1 - chances, chances)
    return ProperScores(
        float(np.average(missed**2, weights=pairs.weights)),
        float(np.average(-np.log1p(-missed), weights=pairs.weights)),
    )
