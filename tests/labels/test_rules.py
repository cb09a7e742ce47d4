from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2set.core.errors import InputError, UnknownNameError
from seq2set.labels.rules import RULES, Rule, make_global_rule, make_label_rule, make_top_rule

SCORES = np.array([[0.9, 0.2, 0.6], [0.1, 0.1, 0.1]], np.float32)
ABOVE_ONE = float(np.nextafter(np.float32(1), np.float32(2)))


def labels(rule: Rule) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in rule.decide(SCORES)]


def test_one_threshold_for_all() -> None:
    assert labels(make_global_rule(0.5)) == [[0, 2], []]
    assert labels(make_global_rule(0.0)) == [[0, 1, 2], [0, 1, 2]]
    assert labels(make_global_rule(float(SCORES[0, 2]))) == [[0, 2], []]


def test_a_threshold_for_each_label() -> None:
    assert labels(make_label_rule([0.95, 0.15, 0.6])) == [[1, 2], []]
    assert labels(make_label_rule(np.array([0.1, 0.2, 1.0], np.float32))) == [[0, 1], [0]]


def test_the_best_few_and_of_equals_the_first() -> None:
    assert labels(make_top_rule(1)) == [[0], [0]]
    assert labels(make_top_rule(2)) == [[0, 2], [0, 1]]
    assert labels(make_top_rule(3)) == [[0, 1, 2], [0, 1, 2]]
    assert labels(make_top_rule(2, 0.6)) == labels(make_top_rule(3, 0.3)) == [[0, 2], []]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (make_global_rule(0.31254), "every label that scores at least 0.3125"),
        (make_global_rule(1.0), "every label that scores at least 1"),
        (make_global_rule(ABOVE_ONE), "no label at all"),
        (make_label_rule([0.5, 0.25]), "every label that reaches its own threshold (0.25 to 0.5)"),
        (make_top_rule(1), "the best label of each text"),
        (make_top_rule(3), "the 3 best labels of each text"),
        (make_top_rule(3, 0.5), "the 3 best labels of each text with a score of at least 0.5"),
    ],
)
def test_rules_in_words(rule: Rule, words: str) -> None:
    assert rule.describe() == words


@given(
    st.one_of(
        st.builds(make_global_rule, st.floats(0, 1)),
        st.builds(make_label_rule, st.lists(st.floats(0, 1), min_size=1)),
        st.builds(make_top_rule, st.integers(1, 50), st.none() | st.floats(0, 1)),
    )
)
def test_any_rule_survives_json(rule: Rule) -> None:
    plain = json.loads(json.dumps(rule.to_dict()))
    assert plain["kind"] in RULES
    assert Rule.from_dict(plain) == rule


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), float("inf")])
def test_thresholds_lie_between_0_and_1(threshold: float) -> None:
    with pytest.raises(InputError, match=rf"threshold is {threshold}; it must lie in \[0, 1\]"):
        make_global_rule(threshold)
    with pytest.raises(InputError, match=rf"threshold is {threshold}; it must lie in \[0, 1\]"):
        make_label_rule([0.5, threshold])


def test_at_least_one_is_the_best() -> None:
    with pytest.raises(InputError, match="top_k is 0; it must be >= 1"):
        make_top_rule(0)


def test_a_rule_for_other_labels() -> None:
    for rule in (make_global_rule(0.5), make_label_rule([0.1, 0.2, 0.3]), make_top_rule(3)):
        rule.refuse_misfit(3)
    with pytest.raises(InputError, match="a rule of 2 thresholds cannot decide on 3 labels"):
        make_label_rule([0.1, 0.2]).refuse_misfit(3)
    with pytest.raises(InputError, match="top_k is 4, but there are 3 labels; it must be <= 3"):
        make_top_rule(4).refuse_misfit(3)


def test_a_kind_that_there_is_not() -> None:
    with pytest.raises(UnknownNameError, match="rule 'top' is not known, did you mean 'top-k'?"):
        Rule.from_dict({"kind": "top", "k": 1})
