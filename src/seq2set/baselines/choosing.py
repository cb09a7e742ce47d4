"""The search over C: fit for each, tune the decision on validation, keep the best.

Shapes: N documents of the validation split, L labels, U labels of it that training never saw.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.calibration import Sigmoid
from seq2set.config import Config
from seq2set.metrics import Counts, is_better
from seq2set.predictions import Scores
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
    config: Config, targets: csr_matrix, run: RunFolder, fit: Callable[[float], Scored[Machine]]
) -> Candidate[Machine]:
    """Fit for each C of the settings until the next does no better on the validation `targets`.

    These are (N, L + U): U labels that training never saw count as missed, as they do in every evaluation.
    """
    best: Candidate[Machine] | None = None
    for c in sorted(config.linear.c):
        candidate = _candidate(config, targets, run, c, fit)
        if best is not None and not is_better(candidate.reached, best.reached, config.decision.metric):
            # Quality rises with C and then falls, while the time only rises: the rest would be for nothing.
            break
        best = candidate
    assert best is not None  # the settings hold at least one C
    return best


def _candidate(
    config: Config, targets: csr_matrix, run: RunFolder, c: float, fit: Callable[[float], Scored[Machine]]
) -> Candidate[Machine]:
    began = time.perf_counter()
    scored = fit(c)
    threshold = _threshold(config, scored, targets)
    rule = global_rule(threshold)
    reached = Counts.of_known(rule.given(scored.scores), targets).metrics()
    if not any(record["c"] == c for record in run.records()):
        seconds = round(time.perf_counter() - began, 3)
        run.log({"phase": "linear", "c": c, "threshold": threshold, "seconds": seconds, **reached})
    return Candidate(c, scored.machine, rule, reached[config.decision.metric])


def _threshold(config: Config, scored: Scored[Machine], targets: csr_matrix) -> float:
    wanted = config.decision.threshold
    if wanted == "boundary":
        return scored.boundary
    if wanted == "tuned":
        return best_threshold(scored.scores, targets, config.decision.metric).value
    return wanted
