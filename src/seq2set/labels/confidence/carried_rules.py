"""Rules that go with the scores: the same sets of labels by other probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from seq2set.labels.confidence.calibrators import IDENTITY, BoundedCalibrator, Calibrator, Scores, invert
from seq2set.labels.rules import Rule


def carry_rule(rule: Rule, calibrator: Calibrator) -> Rule:
    """Return the rule that decides on probabilities as `rule` does on scores, whose order they keep."""
    return _move_thresholds(rule, calibrator)


def find_plain_rule(rule: Rule, present: Calibrator) -> Rule | None:
    """Return the rule that decides on scores as `rule` does on their probabilities, where there is one."""
    if rule.kind == "expected-f1":
        return None
    if isinstance(present, BoundedCalibrator):
        untouched = rule.thresholds == tuple(present.probabilities)
        return replace(rule, thresholds=tuple(present.scores)) if untouched else None
    if present is IDENTITY:
        return rule
    return _move_thresholds(rule, partial(invert, present)) if present.keeps_order else None


def _move_thresholds(rule: Rule, change: Callable[[Scores], Scores]) -> Rule:
    inside = [one for one in rule.thresholds if 0 < one <= 1]
    found = iter(change(np.array([inside], np.float32))[0].tolist())
    moved = (next(found) if 0 < one <= 1 else one for one in rule.thresholds)
    return replace(rule, thresholds=tuple(moved))
