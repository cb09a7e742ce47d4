"""The search over C: the value and the decision rule that are best on the validation split.

Shapes: N documents, L labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from seq2set.config import Config
from seq2set.config.catalog import is_better
from seq2set.labels.best_rule import TunedRule, find_best_rule
from seq2set.labels.calibration import Sigmoid
from seq2set.labels.metrics import Counts
from seq2set.labels.rules import Rule, make_global_rule
from seq2set.labels.thresholds import find_threshold
from seq2set.models.linear.matrices import LinearTraining
from seq2set.models.predictions import Scores, withhold_scores

Machine = TypeVar("Machine")


@dataclass(frozen=True)
class ScoredFit(Generic[Machine]):
    """What was fitted with one C, and its scores of the validation split."""

    machine: Machine
    scores: Scores  # (N, L)
    boundary: float
    """The score of a label that the classifiers are undecided about."""


@dataclass(frozen=True)
class FittedCandidate(Generic[Machine]):
    """What was fitted with one C, its decision rule, and what it reached on validation."""

    c: float
    machine: Machine
    rule: Rule
    reached: float
    scores: Scores
    """Of the validation split (N, L), -inf in documents without a known word"""
    tuned: TunedRule | None = None
    """The rule with what each kind reached, where kinds were compared"""


def score_zero_margin(sigmoid: Sigmoid) -> float:
    """Return the score of a margin of zero."""
    return float(sigmoid(np.zeros(1, np.float32))[0])


def find_best_c(data: LinearTraining, fit: Callable[[float], ScoredFit[Machine]]) -> FittedCandidate[Machine]:
    """Fit for each C of the settings until the next does no better on the validation split.

    As in every evaluation, labels that training never saw count as missed, and documents without a known word
    are given none.
    """
    return try_rules(data, search_c(data, fit))


def search_c(
    data: LinearTraining, fit: Callable[[float], ScoredFit[Machine]], least: float = 0.0
) -> FittedCandidate[Machine]:
    """Do so from a `least` C on, and leave the threshold as it is tuned for each."""
    best: FittedCandidate[Machine] | None = None
    for c in sorted(data.config.linear.c):
        if c < least:
            continue
        candidate = _try_c(data, c, fit)
        if best is not None and not is_better(candidate.reached, best.reached, data.config.decision.metric):
            # Quality rises with C and then falls, while the time only rises: the rest would be for nothing.
            break
        best = candidate
    assert best is not None  # the settings hold at least one C
    return best


def has_open_rule(config: Config) -> bool:
    """Say whether the kind of rule is to be chosen on validation."""
    return config.decision.rule != "global" and config.decision.threshold == "tuned"


def try_rules(data: LinearTraining, best: FittedCandidate[Machine]) -> FittedCandidate[Machine]:
    """Choose the kind of rule on validation, where the settings leave it open."""
    if not has_open_rule(data.config):
        return best
    wanted, frequencies = data.config.decision, data.labels.frequencies
    found = find_best_rule(
        wanted.rule,
        best.scores,
        data.valid_actual,
        wanted.metric,
        frequencies=frequencies,
        groups=data.valid_groups,
    )
    return replace(best, rule=found.rule, tuned=found)


def _try_c(
    data: LinearTraining, c: float, fit: Callable[[float], ScoredFit[Machine]]
) -> FittedCandidate[Machine]:
    wanted, began = data.config.decision, time.perf_counter()
    scored = fit(c)
    scores, threshold = withhold_scores(scored.scores, data.valid_known), wanted.threshold
    if threshold == "boundary":
        threshold = scored.boundary
    elif threshold == "tuned":
        threshold = find_threshold(scores, data.valid_actual, wanted.metric).value
    rule = make_global_rule(threshold)
    reached = Counts.of_known(rule.decide(scores), data.valid_actual).metrics()
    which = {"terms": data.terms, "c": c} if data.terms else {"c": c}
    if not any(which.items() <= record.items() for record in data.run.records()):
        seconds = round(time.perf_counter() - began, 3)
        data.run.log({"phase": "linear", **which, "threshold": threshold, "seconds": seconds, **reached})
    return FittedCandidate(c, scored.machine, rule, reached[wanted.metric], scores)
