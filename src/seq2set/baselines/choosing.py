"""The search over C: fit for each, tune the decision on validation, keep the best.

Shapes: N documents of the validation split, L labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.baselines.preparing import Prepared
from seq2set.calibration import Sigmoid
from seq2set.config import Config
from seq2set.metrics import Counts, is_better
from seq2set.predictions import Scores, withhold_scores
from seq2set.rules import Rule, global_rule
from seq2set.runs import RunFolder
from seq2set.thresholds import best_threshold

Machine = TypeVar("Machine")


@dataclass(frozen=True)
class Scored(Generic[Machine]):
    """What was fitted with one C, and its scores of the validation split."""

    machine: Machine
    scores: Scores  # (N, L)
    boundary: float
    """The score of a label that the classifiers are undecided about."""


@dataclass(frozen=True)
class Candidate(Generic[Machine]):
    """What was fitted with one C, its decision rule, and what it reached on validation."""

    c: float
    machine: Machine
    rule: Rule
    reached: float


def undecided(sigmoid: Sigmoid) -> float:
    """Return the score of a margin of zero."""
    return float(sigmoid(np.zeros(1, np.float32))[0])


def best_candidate(
    config: Config, data: Prepared, run: RunFolder, fit: Callable[[float], Scored[Machine]]
) -> Candidate[Machine]:
    """Fit for each C of the settings until the next does no better on the validation split.

    As in every evaluation, labels that training never saw count as missed, and documents without a known word
    are given none.
    """
    best: Candidate[Machine] | None = None
    for c in sorted(config.linear.c):
        candidate = _candidate(config, data, run, c, fit)
        if best is not None and not is_better(candidate.reached, best.reached, config.decision.metric):
            # Quality rises with C and then falls, while the time only rises: the rest would be for nothing.
            break
        best = candidate
    assert best is not None  # the settings hold at least one C
    return best


def _candidate(
    config: Config, data: Prepared, run: RunFolder, c: float, fit: Callable[[float], Scored[Machine]]
) -> Candidate[Machine]:
    began = time.perf_counter()
    scored = fit(c)
    scores = withhold_scores(scored.scores, data.valid_known)
    threshold = _threshold(config, scores, scored.boundary, data.valid_actual)
    rule = global_rule(threshold)
    reached = Counts.of_known(rule.given(scores), data.valid_actual).metrics()
    if not any(record["c"] == c for record in run.records()):
        seconds = round(time.perf_counter() - began, 3)
        run.log({"phase": "linear", "c": c, "threshold": threshold, "seconds": seconds, **reached})
    return Candidate(c, scored.machine, rule, reached[config.decision.metric])


def _threshold(config: Config, scores: Scores, boundary: float, actual: csr_matrix) -> float:
    wanted = config.decision.threshold
    if wanted == "boundary":
        return boundary
    if wanted == "tuned":
        return best_threshold(scores, actual, config.decision.metric).value
    return wanted
