"""Rules by other probabilities give the same sets, or there is none that does."""

from __future__ import annotations

import numpy as np
import pytest

from seq2set.labels.confidence.calibrators import IDENTITY, BoundedCalibrator, LogisticCalibrator
from seq2set.labels.confidence.carried_rules import carry_rule, find_plain_rule, keep_sets
from seq2set.labels.rules import make_expected_rule, make_global_rule, make_label_rule, make_top_rule

PLATT = LogisticCalibrator({"logit": 2.0}, -1.0)
OFFSETS = LogisticCalibrator({"logit": 1.0}, 0.0, (0.0, 1.0, 2.0))
RULES = [make_global_rule(0.3), make_label_rule([0.2, 0.5, 0.8]), make_top_rule(2, 0.4), make_top_rule(1)]
SCORES = np.random.default_rng(1).uniform(0.01, 0.99, (500, 3)).astype(np.float32)


@pytest.mark.parametrize("rule", RULES)
def test_a_carried_rule_gives_the_same_sets_and_comes_back(rule) -> None:
    carried = carry_rule(rule, PLATT)
    assert np.array_equal(carried.decide(PLATT(SCORES)), rule.decide(SCORES))
    assert keep_sets(rule, PLATT, IDENTITY) == (PLATT, carried)
    again = find_plain_rule(carried, PLATT)
    assert again is not None
    assert again.thresholds == pytest.approx(rule.thresholds, abs=1e-6)
    assert find_plain_rule(rule, IDENTITY) is rule


@pytest.mark.parametrize("rule", RULES[:2])
def test_a_bounded_calibrator_keeps_the_sets_of_thresholds(rule) -> None:
    bounded, moved = keep_sets(rule, OFFSETS, PLATT)
    assert isinstance(bounded, BoundedCalibrator)
    assert np.array_equal(moved.decide(bounded(SCORES)), rule.decide(SCORES))
    assert not np.array_equal(moved.decide(OFFSETS(SCORES)), rule.decide(SCORES)), (
        "without bounds it would not"
    )
    assert find_plain_rule(moved, bounded) == rule
    assert find_plain_rule(make_global_rule(0.9), bounded) is None, "it was tuned since"


def test_there_is_no_plain_rule_where_the_order_is_another_or_scores_count_as_probabilities() -> None:
    assert find_plain_rule(make_global_rule(0.5), OFFSETS) is None
    assert find_plain_rule(make_expected_rule(), IDENTITY) is None
