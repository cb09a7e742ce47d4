"""Calibrate a trained model, and find which of its labels may be accepted unseen; both go into its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2set.core.errors import InputError
from seq2set.core.progress import Progress, Silent
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.predictor import Predictor
from seq2set.labels.confidence.acceptance import (
    UNCALIBRATED,
    Acceptance,
    AcceptedLabels,
    Suggestions,
    count_needed,
    find_accepted,
)
from seq2set.labels.confidence.calibrators import BoundedCalibrator, Scores
from seq2set.labels.confidence.candidates import CalibrationSample, cross_fit
from seq2set.labels.indicator import build_indicator
from seq2set.models.predictions import Request, is_decided_by_rule
from seq2set.models.prior import FOLD_SEED, fold_documents
from seq2set.tuning.tunable_model import TunableModel, TuningDocuments
from seq2set.workflows.calibration import FOLDS, Scored, calibrate, score_part


class CalibratedScores(NamedTuple):
    """How good a model's probabilities are on the documents, before and after; those after are held out."""

    ways: dict[str, str]
    """How the scores of each search are calibrated"""
    before: dict[str, float]
    after: dict[str, float]
    micro_f1: tuple[float, float]
    documents: int


def calibrate_model(
    model: Path,
    *,
    data: str | None = None,
    columns: Mapping[str, str] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> CalibratedScores:
    """Fit a model's calibration anew, without training; what may be accepted unseen has to be found again."""
    progress = progress or Silent()
    opened = TunableModel.open(model, data, columns, progress)
    present, documents = opened.predictor.tagger, opened.documents
    tagger, record = calibrate(present, documents.part, documents.groups, progress)
    if not record["searches"]:
        raise InputError(f"{model} was not calibrated: no way keeps its decisions as good as they are")
    before, after = (evaluate_tagger(one, documents.part) for one in (present, tagger))
    record |= {"data": documents.data, "split": documents.split}
    if not dry_run:
        records: dict[str, Any] = {"calibrated": record}
        if documents.own:
            records["validation"] = after.metrics
            records["per_label"] = [label._asdict() for label in after.per_label]
        opened.store(tagger, records)
    found = record["searches"].get(present.find_search(Request())) or next(iter(record["searches"].values()))
    ways = {search: row["way"] for search, row in record["searches"].items()}
    f1 = before.metrics["micro_f1"], after.metrics["micro_f1"]
    return CalibratedScores(ways, found["before"], found["after"], f1, len(documents.part))


def accept_labels(
    model: Path,
    precision: float,
    confidence: float,
    *,
    data: str | None = None,
    columns: Mapping[str, str] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> AcceptedLabels:
    """Find the score from which on each label may be accepted unseen, and put it into the model's folder."""
    for name, level in (("precision", precision), ("confidence", confidence)):
        if not 0 < level < 1:
            raise InputError(f"{name} is {level:g}; it must lie between 0 and 1, such as 0.95")
    progress = progress or Silent()
    opened = TunableModel.open(model, data, columns, progress)
    tagger, documents = opened.predictor.tagger, opened.documents
    search = tagger.find_search(Request())
    if search not in tagger.confidence.calibrators:
        raise InputError(f"the scores of {model} are not calibrated; run seq2set tune --calibrate {model}")
    found = _list_suggestions(opened.predictor, documents, search, progress)
    needed = count_needed(precision, confidence)
    if len(found.scores) < needed:
        raise InputError(
            f"the model suggests {len(found.scores):,} labels for these {len(documents.part):,} documents; a "
            f"precision of {precision:g} with a confidence of {confidence:g} takes {needed:,} at least"
        )
    result = find_accepted(found, len(tagger.labels), precision, confidence)
    accepted = Acceptance(precision, confidence, search, tuple(result.thresholds))
    if not dry_run:
        record = {
            "precision": precision,
            "confidence": confidence,
            "data": documents.data,
            "split": documents.split,
            "documents": len(documents.part),
            "suggested": result.suggested,
            "accepted": result.accepted,
            "right": result.right,
        }
        changed = tagger.with_confidence(replace(tagger.confidence, acceptance=accepted), tagger.rule)
        opened.store(changed, {"accepted": record})
    return result


def _list_suggestions(
    predictor: Predictor, documents: TuningDocuments, search: str, progress: Progress
) -> Suggestions:
    """List what the model suggests for the documents, by probabilities that were not fitted on them."""
    tagger = predictor.tagger
    if documents.own:
        raw = tagger.with_confidence(UNCALIBRATED, tagger.rule)
        scored = score_part(raw, documents.part, search, progress)
        scored = scored._replace(scores=_cross_fit(predictor, scored, documents, search))
    else:
        scored = score_part(tagger, documents.part, search, progress)
    right = scored.right[:, : scored.scores.shape[1]].toarray().astype(bool)
    if is_decided_by_rule(tagger, Request()):
        given = tagger.rule.decide(scored.withheld)
    else:
        chosen = evaluate_tagger(tagger, documents.part).chosen
        given = build_indicator(chosen, len(tagger.labels)).toarray() & scored.known[:, None]
    names = documents.groups or range(len(documents.part))
    units = np.unique(np.array(names), return_inverse=True)[1]
    return Suggestions.of(scored.scores, given, right, units)


def _cross_fit(predictor: Predictor, raw: Scored, documents: TuningDocuments, search: str) -> Scores:
    tagger = predictor.tagger
    row = predictor.metadata.get("calibrated", {}).get("searches", {}).get(search)
    if row is None:  # written by hand: nothing is known of how it was calibrated
        return tagger.confidence.calibrate(search, raw.scores, raw.margins)
    fold = fold_documents(FOLDS, len(documents.part), FOLD_SEED, documents.groups)
    right = raw.right[:, : raw.scores.shape[1]].toarray().astype(bool)
    sample = CalibrationSample(raw.scores, raw.margins, right, fold).pick(raw.known)
    found = np.zeros_like(raw.scores)
    found[raw.known] = cross_fit(row["way"], sample)
    used = tagger.confidence.calibrators[search]
    return used.bound(raw.scores, found) if isinstance(used, BoundedCalibrator) else found
