"""Measure on test what calibrating does to trained models: see docs/confidence.md.

    python tools/confidence_table.py --data CORPUS RUN [RUN ...]

Runs of one model with several seeds make one row: the mean, and where there are three or more the 95 %
interval by Student's t. Each is calibrated in memory on its validation documents, and nothing is written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from seq2set.config.catalog import SCORING
from seq2set.core.progress import Silent
from seq2set.corpora.open_corpus import open_corpus
from seq2set.inference.predictor import Predictor
from seq2set.labels.confidence.acceptance import UNCALIBRATED, Suggestions, find_accepted
from seq2set.labels.confidence.calibrators import IDENTITY, BoundedCalibrator, Scores
from seq2set.labels.confidence.candidates import CalibrationSample, cross_fit
from seq2set.labels.confidence.carried_rules import find_plain_rule
from seq2set.labels.metrics import Counts
from seq2set.labels.reliability import ReliabilityCounts
from seq2set.models.predictions import Request
from seq2set.models.prior import fold_documents
from seq2set.models.tagger import Tagger
from seq2set.workflows.calibration import FOLDS, CalibratedModel, Scored, calibrate, score_part
from seq2set.workflows.training_data import load_examples

SURE = 0.95
LEVELS = 0.9, 0.95, 0.99
CONFIDENCE = 0.9


class Measured(NamedTuple):
    """Figures of one model on test."""

    way: str
    figures: dict[str, float]


def measure(run: Path, data: str) -> Measured:
    """Calibrate a model on validation, and measure it on test."""
    corpus, tagger = open_corpus(data), Predictor.open(run).tagger
    # A trained model is calibrated already, and its threshold is one of probabilities.
    plain = find_plain_rule(tagger.rule, tagger.confidence.calibrators.get(SCORING, IDENTITY))
    if plain is None:
        raise SystemExit(f"the rule of {run} has no threshold on scores before they are calibrated")
    tagger = tagger.with_confidence(UNCALIBRATED, plain)
    valid, test = (load_examples(corpus.split(name)) for name in ("valid", "test"))
    search, silent = tagger.find_search(Request()), Silent()
    found = calibrate(tagger, valid, valid.groups, silent)
    tuned, measured = (score_part(tagger, part, search, silent) for part in (valid, test))
    after = found.tagger.confidence.calibrate(search, measured.scores, measured.margins)
    figures = {
        **_describe("before", tagger, measured, measured.scores),
        **_describe("after", found.tagger, measured, after),
    }
    chances = _cross_fit(
        found, tuned, search, fold_documents(FOLDS, len(valid), tagger.config.seed, valid.groups)
    )
    units = np.unique(np.array(valid.groups or range(len(valid))), return_inverse=True)[1]
    seen = _list_suggestions(found.tagger, tuned, chances, units)
    fresh = _list_suggestions(found.tagger, measured, after, np.arange(len(test)))
    for level in LEVELS:
        accepted = find_accepted(seen, len(tagger.labels), level, CONFIDENCE)
        limits = np.array([np.inf if one is None else one for one in accepted.thresholds], np.float32)
        kept = fresh.scores >= limits[fresh.labels]
        figures[f"accepted at {level:.0%}"] = float(kept.mean())
        figures[f"right at {level:.0%}"] = float(fresh.right[kept].mean()) if kept.any() else np.nan
    return Measured(found.record["searches"][search]["way"], figures)


def _describe(when: str, tagger: Tagger, part: Scored, scores: Scores) -> dict[str, float]:
    actual = part.right[:, : scores.shape[1]].toarray().astype(bool)
    reliability = ReliabilityCounts.of(scores, actual).metrics()
    metrics = Counts.of_known(tagger.rule.decide(part._replace(scores=scores).withheld), part.right).metrics()
    sure = scores >= SURE
    return {
        f"error {when}": reliability["calibration_error"],
        f"brier {when}": reliability["brier"],
        f"log loss {when}": reliability["log_loss"],
        f"sure {when}": float(sure.sum()),
        f"sure and right {when}": float(actual[sure].mean()) if sure.any() else np.nan,
        f"micro-F1 {when}": metrics["micro_f1"],
        f"hamming {when}": metrics["hamming_loss"],
    }


def _cross_fit(found: CalibratedModel, part: Scored, search: str, fold: np.ndarray) -> Scores:
    right = part.right[:, : part.scores.shape[1]].toarray().astype(bool)
    sample = CalibrationSample(part.scores, part.margins, right, fold).pick(part.known)
    chances = np.zeros_like(part.scores)
    chances[part.known] = cross_fit(found.record["searches"][search]["way"], sample)
    used = found.tagger.confidence.calibrators[search]
    return used.bound(part.scores, chances) if isinstance(used, BoundedCalibrator) else chances


def _list_suggestions(tagger: Tagger, part: Scored, scores: Scores, units: np.ndarray) -> Suggestions:
    given = tagger.rule.decide(part._replace(scores=scores).withheld)
    right = part.right[:, : scores.shape[1]].toarray().astype(bool)
    return Suggestions.of(scores, given, right, units)


def _format(values: list[float]) -> str:
    mean = float(np.mean(values))
    if len(values) < 3:
        return f"{mean:.4f}"
    half = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean:.4f} ± {half:.4f}"


def main() -> None:
    """Print a line per figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--data", required=True)
    chosen = parser.parse_args()
    found = [measure(run, chosen.data) for run in chosen.runs]
    print("ways:", ", ".join(one.way for one in found))
    for name in found[0].figures:
        values = [one.figures[name] for one in found]
        print(f"{name:24} {_format(values):18} {' '.join(f'{one:.4f}' for one in values)}", flush=True)


if __name__ == "__main__":
    main()
