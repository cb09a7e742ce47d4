"""Rules that go with the scores: the same sets of labels by other probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from seq2set.labels.confidence.calibrators import (
    IDENTITY,
    BoundedCalibrator,
    Calibrator,
    PlainCalibrator,
    Scores,
)
from seq2set.labels.rules import Rule


class KeptSets(NamedTuple):
    """A calibrator, and the rule that decides on its probabilities as another one does on the scores."""

    calibrator: Calibrator
    rule: Rule


def keep_sets(rule: Rule, calibrator: PlainCalibrator, steady: Calibrator) -> KeptSets:
    """Let a calibrator leave every set as the thresholds of `rule` make it of scores.

    `steady` keeps the order of scores; where the calibrator does not, it says where thresholds go.
    """
    if calibrator.keeps_order:
        return KeptSets(calibrator, carry_rule(rule, calibrator))
    moved = carry_rule(rule, steady)
    return KeptSets(BoundedCalibrator(calibrator, rule.thresholds, moved.thresholds), moved)


def carry_rule(rule: Rule, change: Callable[[Scores], Scores]) -> Rule:
    """Return the rule that decides on changed scores as `rule` does on these, whose order they keep."""
    inside = [one for one in rule.thresholds if 0 < one <= 1]
    found = iter(change(np.array([inside], np.float32))[0].tolist())
    moved = (next(found) if 0 < one <= 1 else one for one in rule.thresholds)
    return replace(rule, thresholds=tuple(moved))


def find_plain_rule(rule: Rule, present: Calibrator) -> Rule | None:
    """Return the rule that decides on scores as `rule` does on their probabilities, where there is one."""
    if rule.kind == "expected-f1":
        return None
    if isinstance(present, BoundedCalibrator):
        untouched = rule.thresholds == tuple(present.probabilities)
        return replace(rule, thresholds=tuple(present.scores)) if untouched else None
    if present is IDENTITY:
        return rule
    return carry_rule(rule, partial(invert, present)) if present.keeps_order else None


def invert(calibrator: Calibrator, probabilities: Scores) -> Scores:
    """Return from which scores on a calibrator that keeps their order gives the probabilities (1, P)."""
    low, high = np.zeros(probabilities.shape), np.ones(probabilities.shape)
    for _ in range(30):  # as exact as single precision
        middle = (low + high) / 2
        below = calibrator(middle.astype(np.float32)) < probabilities
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high.astype(np.float32)
