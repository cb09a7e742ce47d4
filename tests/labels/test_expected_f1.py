"""The set of the highest expected F1, against trying every set under every truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seq2set.labels.best_rule import find_best_rule
from seq2set.labels.metrics import f1
from seq2set.labels.rules import (
    AT_A_TIME,
    MOST,
    Rule,
    choose_best_sets,
    compute_expected_f1,
    make_expected_rule,
)


def enumerate_expected(probabilities: np.ndarray, chosen: np.ndarray) -> float:
    """Return the expected F1 of one document's set, by going through all sets that may be the true one."""
    total = 0.0
    for truth in itertools.product((False, True), repeat=len(probabilities)):
        true = np.array(truth)
        chance = np.where(true, probabilities, 1 - probabilities).prod()
        total += chance * float(f1(int((true & chosen).sum()), int(chosen.sum()), int(true.sum())))
    return total


def test_two_labels_by_hand() -> None:
    # p = 0.8, 0.4. Truths: none 0.12, first 0.48, second 0.08, both 0.32.
    # No label: 0.12. The first: 0.48 * 1 + 0.32 * 2/3. Both: (0.48 + 0.08) * 2/3 + 0.32 * 1.
    expected = compute_expected_f1(np.array([[0.8, 0.4]]))
    assert expected[0] == pytest.approx([0.12, 0.48 + 0.64 / 3, 1.12 / 3 + 0.32])
    assert choose_best_sets(np.array([[0.4, 0.8]], np.float32)).tolist() == [[False, True]]


def test_a_label_below_one_half_is_given_where_the_others_are_unsure_too() -> None:
    # p = 0.4, 0.4: none 0.36; one 0.24 + 0.16 * 2/3 = 0.3467; both 0.48 * 2/3 + 0.16 = 0.48.
    assert choose_best_sets(np.array([[0.4, 0.4], [0.2, 0.1]], np.float32)).tolist() == [
        [True, True],
        [False, False],
    ]


@settings(deadline=None, max_examples=60)
@given(arrays(np.float32, (2, 5), elements=st.floats(0, 1, width=32)))
def test_no_set_at_all_is_better(scores: np.ndarray) -> None:
    for row, chosen in zip(scores.astype(np.float64), choose_best_sets(scores), strict=True):
        every = itertools.product((False, True), repeat=len(row))
        best = max(enumerate_expected(row, np.array(one)) for one in every)
        assert enumerate_expected(row, chosen) == pytest.approx(best, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(arrays(np.float64, (1, 6), elements=st.floats(0, 1)))
def test_every_size_has_its_expectation(probabilities: np.ndarray) -> None:
    ordered = -np.sort(-probabilities)
    for size, value in enumerate(compute_expected_f1(ordered)[0]):
        assert value == pytest.approx(enumerate_expected(ordered[0], np.arange(6) < size), abs=1e-9)


def test_many_documents_and_labels_and_scores_of_minus_infinity() -> None:
    generator = np.random.default_rng(1)
    scores = generator.random((AT_A_TIME + 3, MOST + 40)).astype(np.float32) ** 8
    scores[5] = -np.inf
    chosen = choose_best_sets(scores)
    assert not chosen[5].any()
    for row in (0, 7, AT_A_TIME, AT_A_TIME + 2):  # each the same as alone: blocks do not disturb each other
        assert (chosen[row] == choose_best_sets(scores[row : row + 1])[0]).all()
        given, left = scores[row][chosen[row]], scores[row][~chosen[row]]
        assert given.min() >= left.max()
    assert choose_best_sets(np.ones((1, MOST + 40), np.float32)).sum() == MOST


def test_it_is_a_rule_that_is_stored() -> None:
    rule = make_expected_rule()
    assert Rule.from_dict(rule.to_dict()) == rule == Rule("expected-f1")
    assert rule.describe() == "the set of labels of the highest expected F1"
    rule.refuse_misfit(3)
    assert rule.decide(np.array([[0.4, 0.4]], np.float32)).tolist() == [[True, True]]


def test_it_is_chosen_where_the_scores_are_probabilities() -> None:
    # True labels drawn from the scores: no threshold does better per document than the expectation itself.
    generator = np.random.default_rng(3)
    level = generator.choice([0.1, 1.0], size=(2000, 1))
    scores = (level * generator.random((2000, 6)) ** 2).astype(np.float32)
    right = generator.random(scores.shape) < scores
    found = find_best_rule("best", scores, right, "example_f1")
    assert found.rule == make_expected_rule()
    assert found.held_out["expected-f1"] > found.held_out["global"] + 0.005
