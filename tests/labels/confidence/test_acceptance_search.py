"""Thresholds of acceptance are tested on documents drawn anew, where the true precision is known."""

from __future__ import annotations

import numpy as np
import pytest

from seq2set.labels.confidence.acceptance import (
    Suggestions,
    compute_design_effect,
    compute_p_value,
    count_needed,
    describe_accepted,
    find_accepted,
    find_threshold,
)


def draw(documents: int, seed: int) -> Suggestions:
    """Draw four suggestions for each document; in one of ten documents all are less likely than they say."""
    random = np.random.default_rng(seed)
    scores = np.sort(1 - 0.6 * random.random((documents, 4)) ** 2, axis=1)[:, ::-1].astype(np.float32)
    hard = random.random((documents, 1)) < 0.1
    right = random.random(scores.shape) < np.where(hard, scores - 0.3, scores + 0.03)
    labels = random.integers(0, 30, scores.shape)
    units = np.repeat(np.arange(documents), 4)
    return Suggestions(scores.ravel(), labels.ravel(), right.ravel(), units)


@pytest.mark.parametrize("precision", [0.9, 0.95])
def test_the_precision_that_was_asked_for_is_reached_in_20_resampled_splits(precision: float) -> None:
    fresh, reached, accepted = draw(20_000, 999), [], []
    for split in range(20):
        found = find_accepted(draw(1500, split), 30, precision, 0.9)
        limits = np.array([np.inf if one is None else one for one in found.thresholds])
        kept = fresh.scores >= limits[fresh.labels]
        reached.append(fresh.right[kept].mean() if kept.any() else 1.0)
        accepted.append(kept.mean())
    # With a confidence of 90 % two of 20 may fall short by chance; here no more than that do.
    assert sum(one < precision for one in reached) <= 2, reached
    assert min(reached) > precision - 0.01
    assert np.mean(accepted) > 0.1, "it is not reached by accepting nothing"


def test_how_many_right_ones_a_test_takes() -> None:
    # three walks share an error of 0.1: 0.95^66 = 0.0339 is too much, 0.95^67 = 0.0322 is not
    assert count_needed(0.95, 0.9) == 67
    right = np.ones(67, bool)
    scores, units = np.linspace(0.9, 0.5, 67, dtype=np.float32), np.arange(67)
    found = Suggestions(scores, np.zeros(67, int), right, units)
    assert find_threshold(found, 0.95, 0.9) == pytest.approx(0.5)
    assert find_threshold(found.pick(np.arange(67) < 66), 0.95, 0.9) is None
    right[3] = False
    assert find_threshold(found, 0.95, 0.9) is None
    assert find_threshold(found.pick(np.zeros(67, bool)), 0.95, 0.9) is None


def test_the_test_is_the_exact_binomial_one() -> None:
    right = np.ones(20, bool)
    right[[4, 9]] = False
    found = Suggestions(np.linspace(1, 0.5, 20, dtype=np.float32), np.zeros(20, int), right, np.arange(20))
    # at most 2 of 20 wrong, each with a chance of 0.1: 0.1215767 + 0.2701703 + 0.2851798
    assert compute_p_value(found, 20, 0.9) == pytest.approx(0.6769268, abs=1e-6)


def test_labels_that_are_wrong_together_count_less() -> None:
    wrong = np.array([1, 1, 0, 0, 0, 0, 0, 0], bool)
    assert compute_design_effect(wrong, np.array([1, 1, 2, 2, 3, 3, 4, 4])) == pytest.approx(2)
    assert compute_design_effect(wrong, np.arange(8)) == pytest.approx(1)
    assert compute_design_effect(np.zeros(8, bool), np.zeros(8, int)) == 1


def test_a_frequent_label_that_is_often_wrong_is_never_accepted() -> None:
    count = 1200
    scores = np.full(2 * count, 0.97, np.float32)
    labels = np.repeat([0, 1], count)
    right = np.concatenate([np.arange(count) % 4 > 0, np.ones(count, bool)])
    found = find_accepted(Suggestions(scores, labels, right, np.arange(2 * count)), 3, 0.95, 0.9)
    assert found.thresholds[0] is None
    assert found.thresholds[1] == pytest.approx(0.97)
    assert found.thresholds[2] is None, "no suggestion speaks for the others"
    assert (found.own, found.suggested, found.accepted, found.right) == (2, 2400, 1200, 1200)


def test_what_may_be_accepted_is_said_in_one_sentence() -> None:
    record = {"precision": 0.95, "suggested": 200, "accepted": 124}
    assert describe_accepted(record) == "of 100 suggestions, 62 can be accepted unseen at 95 % precision"
    none = "no label can be accepted unseen at 95 % precision: the evidence does not suffice"
    assert describe_accepted(record | {"accepted": 0}) == none
