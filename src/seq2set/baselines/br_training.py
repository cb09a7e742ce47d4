"""Training binary relevance: fit for each C, tune the threshold on validation, keep the best.

A run that was stopped goes on after the last C that was finished, to the same result.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_matrix

from seq2set.baselines.br import BinaryRelevance
from seq2set.baselines.linear import LinearScorer, fit_linear
from seq2set.calibration import Sigmoid, fit_sigmoid
from seq2set.config import Config
from seq2set.features import TfidfFeatures, encoded_blocks
from seq2set.files import written_aside
from seq2set.hardware import thread_count
from seq2set.metrics import Counts, is_better
from seq2set.predictions import Scores
from seq2set.progress import Progress
from seq2set.runs import RunFolder
from seq2set.tagger import Examples
from seq2set.thresholds import best_threshold
from seq2set.vocabulary import Labels, Words


class Candidate(NamedTuple):
    """A model for one C, and what it reached on validation."""

    c: float
    scorer: LinearScorer
    sigmoid: Sigmoid
    threshold: float
    reached: float


class Prepared(NamedTuple):
    """The examples as matrices; computed once for all values of C."""

    features: TfidfFeatures
    labels: Labels
    train: csr_matrix
    train_targets: csr_matrix
    valid: csr_matrix
    valid_targets: csr_matrix


def train_br(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> BinaryRelevance:
    """Train on `train`, tune on `valid`, and return the best model found."""
    data = _prepare(config, train, valid, progress)
    best: Candidate | None = None
    for c in sorted(config.linear.c):
        candidate = _candidate(config, data, c, run, progress)
        if best is not None and not is_better(candidate.reached, best.reached, config.decision.metric):
            # Quality rises with C and then falls, while the time only rises: the rest would be for nothing.
            break
        best = candidate
    assert best is not None  # the settings hold at least one C
    return BinaryRelevance(
        config, data.features, data.labels, best.scorer, best.sigmoid, best.threshold, best.c
    )


def _prepare(config: Config, train: Examples, valid: Examples, progress: Progress) -> Prepared:
    with progress.stage("features", 4) as advance:
        labels = Labels.build(train.label_sets)
        words = Words.build(train.texts, **config.text.model_dump())
        advance(1)
        encoded = list(encoded_blocks(words, train.texts))
        features = TfidfFeatures.fit(words, encoded, **config.features.model_dump())
        advance(1)
        train_matrix = features.transform_blocks(encoded)
        advance(1)
        valid_matrix = features.transform(valid.texts)
        advance(1)
    return Prepared(
        features,
        labels,
        train_matrix,
        labels.indicator(train.label_sets),
        valid_matrix,
        labels.indicator(valid.label_sets),
    )


def _candidate(config: Config, data: Prepared, c: float, run: RunFolder, progress: Progress) -> Candidate:
    began = time.perf_counter()
    scorer = _fitted_or_found(config, data, c, run, progress)
    margins = scorer.margins(data.valid)
    sigmoid = fit_sigmoid(margins, data.valid_targets.toarray())
    scores = sigmoid(margins)
    threshold = _threshold(config, sigmoid, scores, data.valid_targets)
    reached = Counts.of(scores >= np.float32(threshold), data.valid_targets).metrics()
    if not any(record["c"] == c for record in run.records()):
        seconds = round(time.perf_counter() - began, 3)
        run.log({"phase": "linear", "c": c, "threshold": threshold, "seconds": seconds, **reached})
    return Candidate(c, scorer, sigmoid, threshold, reached[config.decision.metric])


def _fitted_or_found(
    config: Config, data: Prepared, c: float, run: RunFolder, progress: Progress
) -> LinearScorer:
    checkpoint = run.checkpoints / f"linear-c-{c:g}.safetensors"
    if checkpoint.is_file():
        found = load_file(checkpoint)
        return LinearScorer(found["weights"], found["bias"])
    with progress.stage(f"one classifier a label, C = {c:g}", len(data.labels.names)) as advance:
        scorer = fit_linear(
            data.train,
            data.train_targets,
            c=c,
            tolerance=config.linear.tolerance,
            seed=config.seed,
            threads=thread_count(config.threads),
            advance=advance,
        )
    _save(scorer, checkpoint)
    return scorer


def _save(scorer: LinearScorer, path: Path) -> None:
    with written_aside(path) as aside:
        save_file({"weights": scorer.weights, "bias": scorer.bias}, aside)


def _threshold(config: Config, sigmoid: Sigmoid, scores: Scores, targets: csr_matrix) -> float:
    wanted = config.decision.threshold
    if wanted == "boundary":
        return float(sigmoid(np.zeros(1, np.float32))[0])
    if wanted == "tuned":
        return best_threshold(scores, targets, config.decision.metric).value
    return wanted
