"""The rule of a kind that is best for a metric on a validation split, and the kind that serves best.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.config.catalog import is_better, list_tunable
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.core.text_utils import join_names
from seq2set.labels.indicator import Indicators, as_indicator
from seq2set.labels.label_thresholds import SUPPORTED, find_label_thresholds
from seq2set.labels.metrics import Counts
from seq2set.labels.rules import (
    RULES,
    Rule,
    RuleKind,
    make_expected_rule,
    make_global_rule,
    make_label_rule,
    make_top_rule,
)
from seq2set.labels.thresholds import find_number, find_threshold, refuse_unfit

KINDS: tuple[str, ...] = (*RULES, "best")
"""The kinds that can be asked for; `best` tries all."""

LEAST = 5
"""A label that fewer validation documents have gets no threshold of its own: it would be made by chance."""

FOLDS = 5
"""The number of parts that are held out in turn to compare the kinds."""


class TunedRule(NamedTuple):
    """A rule and the metric that it reaches on the documents that it was tuned on."""

    rule: Rule
    score: float
    rare: int = 0
    """How many labels were too rare for a threshold of their own"""
    held_out: Mapping[RuleKind, float] = {}
    """What each kind that was tried reached on documents held out from its tuning"""


def find_best_rule(
    kind: str, scores: NDArray[Any], actual: Indicators, metric: str, *, least: int = LEAST
) -> TunedRule:
    """Find the rule that is best for `metric` on (documents, labels) scores in [0, 1].

    - `global`: one threshold for all labels, see `find_threshold`.
    - `top-k`: as many of the best labels as serve best, every number tried.
    - `expected-f1`: the set of the highest expected F1, the scores taken for probabilities; nothing to tune.
    - `per-label`: a threshold for each label, see `find_label_thresholds`. Labels that fewer than `least`
      documents have take the global threshold, lest chance make theirs.
    - `best`: the kind that is best on documents held out in turn from its own tuning, because on the very
      documents that it was tuned on `per-label` always wins; of equals the first in this order, the simplest.
    """
    refuse_unknown(kind, metric)
    scores, indicator = np.asarray(scores, np.float32), as_indicator(actual)
    refuse_unfit(scores, indicator)
    right = indicator.toarray()
    kinds = [one for one in RULES if kind in (one, "best") and (one != "per-label" or metric in SUPPORTED)]
    reached = {one: _score_held_out(one, scores, right, metric, least) for one in kinds}
    winner = kinds[0]
    for other in kinds[1:]:
        if is_better(reached[other], reached[winner], metric):
            winner = other
    return _tune(winner, scores, right, metric, least)._replace(held_out=reached)


def refuse_unknown(kind: str, metric: str) -> None:
    """Refuse an unknown kind or metric."""
    if kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    if metric not in list_tunable():
        raise UnknownNameError("metric", metric, list_tunable())
    if kind == "per-label" and metric not in SUPPORTED:
        raise InputError(
            f"metric is '{metric}'; thresholds per label can be tuned for {join_names(SUPPORTED)} only"
        )


def score_rule(
    present: Rule, scores: NDArray[Any], actual: Indicators, metric: str, *, least: int = LEAST
) -> float:
    """Return what a rule reaches, comparable with what another reaches on documents held out.

    A rule that tuning on these very documents gives again was tuned on them: its figure here is too good,
    and what its kind reaches on documents held out in turn stands for it.
    """
    scores, indicator = np.asarray(scores, np.float32), as_indicator(actual)
    right = indicator.toarray()
    if _tune(present.kind, scores, right, metric, least).rule == present:
        return _score_held_out(present.kind, scores, right, metric, least)
    return Counts.of_known(present.decide(scores), indicator).metrics()[metric]


def _score_held_out(
    kind: str, scores: NDArray[np.float32], right: NDArray[np.bool_], metric: str, least: int
) -> float:
    given = np.zeros(scores.shape, bool)
    fold = np.arange(len(scores)) % FOLDS
    for number in np.unique(fold):
        held, rest = fold == number, fold != number
        # A single document cannot be held out from itself.
        seen = rest if rest.any() else held
        given[held] = _tune(kind, scores[seen], right[seen], metric, least).rule.decide(scores[held])
    return Counts.of_known(given, right).metrics()[metric]


def _tune(
    kind: str, scores: NDArray[np.float32], right: NDArray[np.bool_], metric: str, least: int
) -> TunedRule:
    if kind == "top-k":
        return _measure(make_top_rule(find_number(scores, right, metric)), scores, right, metric)
    if kind == "expected-f1":
        return _measure(make_expected_rule(), scores, right, metric)
    shared = find_threshold(scores, right, metric).value
    if kind == "global":
        return _measure(make_global_rule(shared), scores, right, metric)
    reachable = right[:, : scores.shape[1]] & (scores > -np.inf)
    free = np.flatnonzero(reachable.sum(axis=0) >= max(least, 1))
    rule = make_label_rule(find_label_thresholds(scores, right, metric, shared, free))
    return _measure(rule, scores, right, metric)._replace(rare=scores.shape[1] - len(free))


def _measure(rule: Rule, scores: NDArray[np.float32], right: NDArray[np.bool_], metric: str) -> TunedRule:
    return TunedRule(rule, Counts.of_known(rule.decide(scores), right).metrics()[metric])
