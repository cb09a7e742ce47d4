from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seq2set.core.errors import InputError
from seq2set.labels.rules import Rule, make_global_rule, make_label_rule, make_top_rule
from seq2set.models.predictions import Inference, Request, Suggestion, decide, withhold
from seq2set.text.reasons import Evidence

SCORES = np.array([[0.9, 0.2, 0.6], [0.1, 0.1, 0.1]], np.float32)
HALF = make_global_rule(0.5)


def sets(request: Request, rule: Rule = HALF) -> list[list[int]]:
    return [row.tolist() for row in decide(SCORES, rule, request)]


def test_labels_from_the_threshold_on_best_first() -> None:
    assert sets(Request()) == [[0, 2], []]


def test_a_request_overrides_the_threshold() -> None:
    assert sets(Request(threshold=0.1)) == [[0, 2, 1], [0, 1, 2]]


def test_a_score_equal_to_the_threshold_is_given() -> None:
    assert sets(Request(), rule=make_global_rule(float(np.float32(0.6)))) == [[0, 2], []]


def test_a_rule_of_ones_own_for_each_label() -> None:
    # 0.9 misses 0.95, 0.2 reaches 0.15, 0.6 reaches 0.6; below nothing reaches anything.
    rule = make_label_rule([0.95, 0.15, 0.6])
    assert sets(Request(), rule) == [[2, 1], []]
    assert sets(Request(max_labels=1), rule) == [[2], []]
    # The best label joins, though its own threshold is not reached, and stands in its place by score.
    assert sets(Request(min_labels=3), rule) == [[0, 2, 1], [0, 1, 2]]
    assert sets(Request(min_labels=1), rule) == [[2, 1], [0]]
    assert sets(Request(threshold=0.5), rule) == [[0, 2], []]


def test_the_best_few_whatever_their_scores() -> None:
    assert sets(Request(), make_top_rule(2)) == [[0, 2], [0, 1]]
    assert sets(Request(top_k=2)) == [[0, 2], [0, 1]]
    assert sets(Request(top_k=3)) == [[0, 2, 1], [0, 1, 2]]
    assert sets(Request(top_k=2, max_labels=1)) == [[0], [0]]
    assert sets(Request(top_k=1, min_labels=2)) == [[0, 2], [0, 1]]


def test_more_than_there_are_gives_all() -> None:
    assert sets(Request(top_k=4)) == sets(Request(top_k=3)) == [[0, 2, 1], [0, 1, 2]]


def test_the_best_few_that_reach_a_threshold() -> None:
    # 0.9, 0.2 and 0.6 reach 0.2; of the second text nothing does, and the number asks for nothing more.
    both = [sets(Request(top_k=k, threshold=0.2)) for k in (1, 2, 3)]
    assert both == [[[0], []], [[0, 2], []], [[0, 2, 1], []]]
    assert sets(Request(top_k=2, threshold=0.7)) == [[0], []]
    assert sets(Request(top_k=2, threshold=0.7, min_labels=1)) == [[0], [0]]


@pytest.mark.parametrize(
    ("request_", "most"),
    [
        (Request(), 0),
        (Request(top_k=2), 2),
        (Request(top_k=2, threshold=0.0), 0),
        (Request(top_k=1, min_labels=2), 2),
        (Request(top_k=3, threshold=0.1, min_labels=1), 1),
    ],
)
def test_a_text_without_known_words_gets_what_is_asked_for_by_number(request_: Request, most: int) -> None:
    given = withhold([np.arange(3), np.arange(3)], np.array([True, False]), request_)
    assert [row.tolist() for row in given] == [[0, 1, 2], [0, 1, 2][:most]]


def test_at_most_and_at_least() -> None:
    assert sets(Request(max_labels=1)) == [[0], []]
    assert sets(Request(min_labels=1)) == [[0, 2], [0]]
    assert sets(Request(min_labels=9)) == [[0, 2, 1], [0, 1, 2]]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"threshold": 1.5}, r"threshold is 1.5; it must lie in \[0, 1\]"),
        ({"threshold": float("nan")}, r"threshold is nan; it must lie in \[0, 1\]"),
        ({"top_k": 0}, "top_k is 0; it must be >= 1"),
        ({"search": "dfs"}, "search 'dfs' is not known"),
        ({"min_labels": -1}, "min_labels is -1; it must be >= 0"),
        ({"max_labels": 0}, "max_labels is 0; it must be >= 1"),
        ({"max_labels": 1, "min_labels": 2}, "max_labels is 1; it must be >= 2, and not below min_labels"),
    ],
)
def test_a_wrong_request(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Request(**options)  # type: ignore[arg-type]


@given(
    arrays(np.float32, st.tuples(st.integers(0, 5), st.integers(1, 6)), elements=st.floats(0, 1, width=32)),
    st.floats(0, 1),
    st.integers(0, 3),
    st.integers(3, 8),
)
def test_any_decision_keeps_its_limits(scores: np.ndarray, threshold: float, least: int, most: int) -> None:
    request = Request(max_labels=most, min_labels=least)
    for row, labels in zip(scores, decide(scores, make_global_rule(threshold), request), strict=True):
        assert min(least, len(row)) <= len(labels) <= most
        assert len(set(labels.tolist())) == len(labels)
        assert (np.diff(row[labels]) <= 0).all()


def test_suggestions_are_spelled_out() -> None:
    word = Evidence("wheat", 0, 5, 1.0)
    inference = Inference(SCORES, [np.array([2, 0]), np.array([], int)], [[(word,), ()], []])
    first, second = inference.suggestions(["a", "b", "c"])
    assert [(s.label, s.evidence) for s in first] == [("c", (word,)), ("a", ())]
    assert first[1].score == pytest.approx(0.9)
    assert second == ()
    assert Inference(SCORES, inference.chosen).suggestions("abc")[0][0] == Suggestion(
        "c", float(SCORES[0, 2])
    )
