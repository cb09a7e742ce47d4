"""Calibrate a model on documents that it did not learn from: its scores become probabilities.

Sets of labels stay as they were: each threshold goes where its score has gone, and where more than the score
is looked at, no probability crosses it. Where there is no threshold to keep (the set of the highest expected
F1), the rule is tuned again, and must be at least as good as before on documents held out in turn.

Shapes: N documents, L labels that the model knows, U labels of the documents that it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config.catalog import SEARCHES, find_scoring_search, is_better
from seq2set.core.errors import InputError
from seq2set.core.progress import Progress
from seq2set.core.text_utils import count_things
from seq2set.corpora.seen_texts import Documents
from seq2set.evaluation.measure import BATCH
from seq2set.labels.best_rule import can_tune, find_best_rule, score_rule
from seq2set.labels.confidence.acceptance import UNCALIBRATED, Confidence
from seq2set.labels.confidence.calibrators import IDENTITY, BoundedCalibrator, Calibrator, Scores
from seq2set.labels.confidence.candidates import CalibrationSample, Candidate, fit_candidates
from seq2set.labels.confidence.carried_rules import find_plain_rule, keep_sets
from seq2set.labels.reliability import ReliabilityCounts
from seq2set.labels.rules import Rule
from seq2set.models.predictions import Request, withhold_scores
from seq2set.models.prior import FOLD_SEED, fold_documents
from seq2set.models.tagger import Examples, Tagger

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FOLDS = 5
LEAST_RIGHT = 50
"""With fewer labels to go by a calibrator would be made by chance."""


class Scored(NamedTuple):
    """What a model makes of documents, and their true labels."""

    scores: Scores  # (N, L)
    margins: Scores | None  # (N, L) of the linear prior
    known: npt.NDArray[np.bool_]  # (N,) whether a word is known
    right: csr_matrix  # (N, L + U)

    @property
    def withheld(self) -> Scores:
        """The scores by which no rule gives a label to a document without a known word."""
        return withhold_scores(self.scores, self.known)


class CalibratedModel(NamedTuple):
    """A calibrated model, and what is recorded of it: plain JSON."""

    tagger: Tagger
    record: dict[str, Any]


class TooFewLabelsError(InputError):
    """The documents have too few labels to calibrate on."""


def calibrate_trained(
    tagger: Tagger, tune: Examples | None, corpus: str, progress: Progress
) -> CalibratedModel:
    """Calibrate a model at the end of its training, or record why its scores stay as they are.

    It has learnt from no example of `tune`; there may be none of these.
    """
    if not tagger.config.decision.calibrate:
        return _leave_as_is(tagger, "decision.calibrate is false")
    if tune is None:
        return _leave_as_is(tagger, "no documents could be set aside from those that it learnt from")
    try:
        found = calibrate(tagger, tune, tune.groups, progress)
    except TooFewLabelsError as error:
        return _leave_as_is(tagger, str(error))
    if not found.record["searches"]:
        return _leave_as_is(tagger, "no way keeps decisions as good as they are")
    return found._replace(record=found.record | {"data": corpus, "split": "valid"})


def _leave_as_is(tagger: Tagger, why: str) -> CalibratedModel:
    return CalibratedModel(tagger, {"searches": {}, "why": why})


def calibrate(
    tagger: Tagger, part: Documents, groups: Sequence[str] | None, progress: Progress
) -> CalibratedModel:
    """Fit calibrators for the scores of the model's own search and for those that a rule decides.

    Documents of a group are held out together.
    """
    fold = fold_documents(FOLDS, len(part), FOLD_SEED, groups)
    calibrators, found, rule = dict(tagger.confidence.calibrators), {}, tagger.rule
    own = tagger.find_search(Request())
    for search in dict.fromkeys((own, find_scoring_search(own))):
        raw = score_part(tagger.with_confidence(UNCALIBRATED, tagger.rule), part, search, progress)
        chosen = _choose(_Choice(tagger, search, raw, groups), fold)
        if chosen is None:
            progress.note(f"no calibration of the {search} scores keeps decisions as good as they are")
            continue
        calibrators[search], rule = chosen.found.calibrator, chosen.found.rule
        present = tagger.confidence.calibrate(search, raw.scores, raw.margins)
        found[search] = chosen.describe(raw, present)
    record = {"documents": len(part), "searches": found}
    return CalibratedModel(tagger.with_confidence(Confidence(calibrators), rule), record)


def score_part(tagger: Tagger, part: Documents, search: str, progress: Progress) -> Scored:
    """Score every document once."""
    labels, answers, sets = tagger.labels.with_unseen(part.iter_labels()), [], []
    with progress.stage("score", len(part)) as advance:
        for documents in part.iter_batches(BATCH):
            answers.append(tagger.infer([one.text for one in documents], Request(search=search)))
            sets += [document.labels for document in documents]
            advance(len(documents))
    margins = [one.margins for one in answers if one.margins is not None]
    known = [np.ones(len(one.scores), bool) if one.known is None else one.known for one in answers]
    return Scored(
        np.concatenate([one.scores for one in answers]),
        np.concatenate(margins) if margins else None,
        np.concatenate(known),
        labels.indicator(sets),
    )


class _Decided(NamedTuple):
    """A calibrator with the rule for its probabilities."""

    calibrator: Calibrator
    probabilities: Scores
    """Of the documents with a known word, each by a calibrator that was fitted without its fold"""
    rule: Rule


class _Chosen(NamedTuple):
    way: str
    found: _Decided
    tried: list[Candidate]

    def describe(self, raw: Scored, present: Scores) -> dict[str, Any]:
        """Return as plain JSON how good the probabilities are; those after by folds that are held out."""
        actual = raw.right[:, : raw.scores.shape[1]].toarray().astype(bool)[raw.known]
        before, after = (
            ReliabilityCounts.of(one, actual).metrics()
            for one in (present[raw.known], self.found.probabilities)
        )
        tried = {one.name: one.held_out._asdict() for one in self.tried}
        return {"way": self.way, "before": before, "after": after, "held_out": tried}


@dataclass(frozen=True)
class _Choice:
    """The choice of a calibrator for the scores of one search."""

    tagger: Tagger
    search: str
    raw: Scored
    groups: Sequence[str] | None = None

    def sample(self, fold: npt.NDArray[np.int64]) -> CalibrationSample:
        """Return the documents with a known word; a label that the model does not know has no score."""
        raw = self.raw
        right = raw.right[:, : raw.scores.shape[1]].toarray().astype(bool)
        return CalibrationSample(raw.scores, raw.margins, right, fold).pick(raw.known)

    def decide(self, candidate: Candidate, steady: Calibrator) -> _Decided | None:
        """Return a candidate with the rule for its probabilities, or None where decisions would be worse.

        `steady` keeps the order of scores; where the candidate does not, it says where thresholds go.
        """
        rule = self.tagger.rule
        found = _Decided(candidate.calibrator, candidate.probabilities, rule)
        if SEARCHES[self.search].decides:
            return found
        plain = find_plain_rule(rule, self.tagger.confidence.calibrators.get(self.search, IDENTITY))
        if plain is None or (plain.k and not candidate.calibrator.keeps_order):
            tuned = self._tune(candidate)
            return found._replace(rule=tuned) if tuned else None
        kept = keep_sets(plain, candidate.calibrator, steady)
        if isinstance(kept.calibrator, BoundedCalibrator):
            scores = self.raw.scores[self.raw.known]
            found = found._replace(probabilities=kept.calibrator.bound(scores, candidate.probabilities))
        return found._replace(**kept._asdict())

    def _tune(self, candidate: Candidate) -> Rule | None:
        raw, present, decision = self.raw, self.tagger.rule, self.tagger.config.decision
        kind, metric = present.kind, decision.metric
        if decision.threshold != "tuned" or not can_tune(kind, metric):
            return None
        probabilities = np.full(raw.scores.shape, -np.inf, np.float32)
        probabilities[raw.known] = candidate.probabilities
        scores = self.tagger.confidence.calibrate(self.search, raw.scores, raw.margins)
        before = withhold_scores(scores, raw.known)
        reached = find_best_rule(kind, probabilities, raw.right, metric, groups=self.groups).held_out[kind]
        if is_better(score_rule(present, before, raw.right, metric, groups=self.groups), reached, metric):
            return None
        after = withhold_scores(candidate.calibrator(raw.scores, raw.margins), raw.known)
        return find_best_rule(kind, after, raw.right, metric).rule


def _choose(choice: _Choice, fold: npt.NDArray[np.int64]) -> _Chosen | None:
    sample = choice.sample(fold)
    if (count := int(sample.right.sum())) < LEAST_RIGHT:
        raise TooFewLabelsError(
            f"the documents to calibrate on have {count_things(count, 'label')} that the model knows; it "
            f"takes {LEAST_RIGHT} at least"
        )
    if not sample.can_hold_out():
        raise TooFewLabelsError(
            "without some of the documents to calibrate on, all labels of the others are right, or none is"
        )
    candidates = fit_candidates(sample)
    steady = next(one.calibrator for one in candidates if one.calibrator.keeps_order)
    for candidate in candidates:
        if (found := choice.decide(candidate, steady)) is not None:
            return _Chosen(candidate.name, found, candidates)
    return None
