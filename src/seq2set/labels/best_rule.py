"""The rule of a kind that is best for a metric on a validation split, and the kind that serves best.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.config.catalog import METRICS, is_better, list_tunable
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.core.names import find_named
from seq2set.core.text_utils import join_names
from seq2set.labels.indicator import Indicators, as_indicator
from seq2set.labels.label_thresholds import find_label_thresholds
from seq2set.labels.metrics import Counts
from seq2set.labels.rare_labels import find_frequency_thresholds
from seq2set.labels.rules import (
    RULES,
    Rule,
    make_expected_rule,
    make_global_rule,
    make_label_rule,
    make_top_rule,
)
from seq2set.labels.thresholds import find_best_place, find_number, find_threshold, refuse_unfit

Scores = NDArray[np.float32]
Bools = NDArray[np.bool_]

BY_FREQUENCY = "per-frequency"
"""Thresholds per label that fall with how rare a label is; see `find_frequency_thresholds`."""

SEARCHES = ("best", "balanced")
"""The kinds that try all others."""

KINDS: tuple[str, ...] = (*RULES, BY_FREQUENCY, *SEARCHES)
"""The kinds that can be asked for."""

LEAST = 5
"""A label that fewer validation documents have gets no threshold of its own: it would be made by chance."""

FAINTEST = 1e-6
"""The score whose log odds stand for those of all that are lower, which may be zero."""

FOLDS = 5
"""The number of parts that are held out in turn to compare the kinds."""


class TunedRule(NamedTuple):
    """A rule and the metric that it reaches on the documents that it was tuned on."""

    rule: Rule
    score: float
    rare: int = 0
    """How many labels were too rare for a threshold of their own"""
    kind: str = ""
    """How it was found, which its rule's kind does not always say"""
    held_out: Mapping[str, float] = {}
    """What each kind that was tried reached on documents held out from its tuning"""
    macro_f1: Mapping[str, float] = {}
    """The macro-F1 of each there"""

    def list_reached(self, metric: str) -> dict[str, dict[str, float]]:
        """Return what each kind reached there, in the metric that it was tuned for and in macro-F1."""
        return {
            kind: {metric: self.held_out[kind], "macro_f1": self.macro_f1[kind]} for kind in self.held_out
        }


def find_best_rule(
    kind: str,
    scores: NDArray[Any],
    actual: Indicators,
    metric: str,
    *,
    least: int = LEAST,
    frequencies: Sequence[int] | None = None,
    groups: Sequence[str] | None = None,
) -> TunedRule:
    """Find the rule that is best for `metric` on (documents, labels) scores in [0, 1].

    - `global`: one threshold for all labels, see `find_threshold`.
    - `top-k`: as many of the best labels as serve best, every number tried.
    - `expected-f1`: the set of the highest expected F1, the scores taken for probabilities; nothing to tune.
    - `per-label`: a threshold for each label, see `find_label_thresholds`. Labels that fewer than `least`
      documents have take the global threshold, since theirs would be made by chance.
    - `per-frequency`: thresholds that fall with how rare a label is in training, for which its `frequencies`
      must be given; see `find_frequency_thresholds`.
    - `best`: the kind that is best on documents held out in turn from its own tuning, because on the very
      documents that it was tuned on `per-label` always wins; of equals the first in this order, the simplest.
    - `balanced`: as `best`, but of the kinds not worse than `global` that of the highest macro-F1.

    Documents of one of the `groups` (N,) are held out together.
    """
    refuse_unknown(kind, metric)
    scores, indicator = np.asarray(scores, np.float32), as_indicator(actual)
    refuse_unfit(scores, indicator)
    right = indicator.toarray()
    kinds = [kind]
    if kind in SEARCHES:
        kinds = [one for one in RULES if can_tune(one, metric)]
        kinds += [] if frequencies is None else [BY_FREQUENCY]
    aim = _Aim(metric, least, frequencies, groups)
    reached = {one: _measure_held_out(one, scores, right, aim) for one in kinds}
    winner = choose_kind(reached, metric, balanced=kind == "balanced")
    return _tune(winner, scores, right, aim)._replace(
        held_out={one: found[metric] for one, found in reached.items()},
        macro_f1={one: found["macro_f1"] for one, found in reached.items()},
    )


def choose_kind(reached: Mapping[str, Mapping[str, float]], metric: str, *, balanced: bool) -> str:
    """Return the kind with the best metrics: the first of equals.

    With `balanced` it is the one of the highest macro-F1, of those that are not worse than `global` by
    `metric`.
    """
    kinds, aim = list(reached), metric
    if balanced:
        least = reached["global"][metric]
        kinds, aim = [one for one in kinds if not is_better(least, reached[one][metric], metric)], "macro_f1"
    return kinds[find_best_place([reached[one][aim] for one in kinds], aim)]


def refuse_unknown(kind: str, metric: str) -> None:
    """Refuse an unknown kind or metric."""
    if kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    find_named("metric", metric, list_tunable())
    if not can_tune(kind, metric):
        names = join_names([name for name in list_tunable() if can_tune(kind, name)])
        raise InputError(f"metric is '{metric}'; thresholds per label can be tuned for {names} only")


def can_tune(kind: str, metric: str) -> bool:
    """Say whether rules of a kind can be tuned for a metric: thresholds per label need an algorithm."""
    return kind != "per-label" or bool(METRICS[metric].label_thresholds)


def score_rule(
    present: Rule,
    scores: NDArray[Any],
    actual: Indicators,
    metric: str,
    *,
    aim: str | None = None,
    groups: Sequence[str] | None = None,
) -> float:
    """Return what a rule reaches, comparable with what another reaches on documents held out.

    Where `aim` names another metric than that of the tuning, it is what is returned.

    A rule that tuning on these very documents gives again was tuned on them: its figure here is too good,
    and what its kind reaches on documents held out in turn stands for it.
    """
    scores, indicator = np.asarray(scores, np.float32), as_indicator(actual)
    right = indicator.toarray()
    if _tune(present.kind, scores, right, _Aim(metric)).rule == present:
        return _measure_held_out(present.kind, scores, right, _Aim(metric, groups=groups))[aim or metric]
    return Counts.of_known(present.decide(scores), indicator).metrics()[aim or metric]


class _Aim(NamedTuple):
    """What a rule is tuned for."""

    metric: str
    least: int = LEAST
    """How many documents a label must have for a threshold of its own"""
    frequencies: Sequence[int] | None = None
    groups: Sequence[str] | None = None
    """Which documents belong together, (N,)"""


def _list_folds(documents: int, groups: Sequence[str] | None) -> NDArray[np.int64]:
    """Return the fold of each document; those of a group are in one, unless there is one group alone."""
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups or ()))}
    if groups is None or len(numbers) < 2:
        return np.arange(documents) % FOLDS
    return np.array([numbers[group] for group in groups]) % FOLDS


def _measure_held_out(kind: str, scores: Scores, right: Bools, aim: _Aim) -> dict[str, float]:
    given = np.zeros(scores.shape, bool)
    fold = _list_folds(len(scores), aim.groups)
    for number in np.unique(fold):
        held, rest = fold == number, fold != number
        # A single document cannot be held out from itself.
        seen = rest if rest.any() else held
        tuned = _tune(kind, scores[seen], right[seen], aim)
        given[held] = tuned.rule.decide(scores[held])
    return Counts.of_known(given, right).metrics()


def _tune(kind: str, scores: Scores, right: Bools, aim: _Aim) -> TunedRule:
    rule = _make_rule(kind, scores, right, aim)
    rare = scores.shape[1] - len(_find_free(scores, right, aim.least)) if kind == "per-label" else 0
    return TunedRule(rule, Counts.of_known(rule.decide(scores), right).metrics()[aim.metric], rare, kind)


def _make_rule(kind: str, scores: Scores, right: Bools, aim: _Aim) -> Rule:
    if kind == "top-k":
        return make_top_rule(find_number(scores, right, aim.metric))
    if kind == "expected-f1":
        return make_expected_rule()
    if kind == BY_FREQUENCY:
        assert aim.frequencies is not None  # who asks for the kind gives them
        # Thresholds that fall with how rare a label is, on the scale of log odds.
        inside = np.clip(scores, FAINTEST, 1 - FAINTEST)
        margins = np.where(scores > -np.inf, np.log(inside / (1 - inside)), -np.inf).astype(np.float32)
        thresholds = find_frequency_thresholds(margins, right, aim.frequencies, aim.metric)
        return make_label_rule(1 / (1 + np.exp(-thresholds.astype(np.float64))))
    shared = find_threshold(scores, right, aim.metric).value
    if kind == "global":
        return make_global_rule(shared)
    free = _find_free(scores, right, aim.least)
    return make_label_rule(find_label_thresholds(scores, right, aim.metric, shared, free))


def _find_free(scores: Scores, right: Bools, least: int) -> NDArray[np.intp]:
    """Return the labels that enough documents have for a threshold of their own."""
    reachable = right[:, : scores.shape[1]] & (scores > -np.inf)
    return np.flatnonzero(reachable.sum(axis=0) >= max(least, 1))
