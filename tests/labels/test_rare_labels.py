"""Thresholds that fall with a label's rarity, and those from documents that were scored out of fold."""

from __future__ import annotations

import numpy as np
import pytest

from seq2set.labels.metrics import Counts
from seq2set.labels.rare_labels import ROLLBACK, find_crossed_thresholds, find_frequency_thresholds


def test_the_mean_over_folds_is_drawn_towards_the_shared_threshold() -> None:
    # In each fold everything from the one right document on: midway between 1 and 0, and 3 and 2.
    margins = np.array([[1.0], [0.0], [3.0], [2.0]], np.float32)
    right = np.array([[1], [0], [1], [0]], bool)
    # Pooled, {3, 2, 1} gives 2 TP of 3 given, 4/5; {3} alone gives 2/3: the shared threshold is 0.5.
    # Two documents have the label, so that its own threshold, (0.5 + 2.5) / 2, weighs 2 / (2 + ROLLBACK).
    assert ROLLBACK == 20
    found = find_crossed_thresholds(margins, right, np.array([0, 0, 1, 1]), "micro_f1")
    assert found == pytest.approx([(2 * 1.5 + 20 * 0.5) / 22])


def test_each_label_has_its_own_scale() -> None:
    # Midway between right and wrong: 5 and -5, in every fold. At -5 for both, all 12 of the second label and
    # all 24 of the first are given, 24 TP, 48/60; at 5 there are 12 TP, 24/36: the shared threshold is -5.
    margins = np.tile(np.array([[6, -4], [4, -6]], np.float32), (12, 1))
    right = np.tile(np.array([[1, 1], [0, 0]], bool), (12, 1))
    found = find_crossed_thresholds(margins, right, np.arange(24) // 8, "macro_f1")
    # Twelve documents against ROLLBACK, 20.
    assert found == pytest.approx([(12 * 5 + 20 * -5) / 32, -5])


def test_macro_f1_counts_a_rare_label_for_more() -> None:
    # The second label's one document is its fourth: micro-F1 gives it up, macro-F1 gains 2 * 1 / (4 + 1).
    margins = np.array([[9, 4], [9, 3], [9, 2], [9, 1]] + [[-9, 0]] * 36, np.float32)
    right = np.zeros((40, 2), bool)
    right[:4, 0] = right[3, 1] = True
    fold = np.zeros(40, np.int64)
    for_micro, for_macro = (
        find_crossed_thresholds(margins, right, fold, metric)[1] for metric in ("micro_f1", "macro_f1")
    )
    assert for_macro < for_micro


def test_a_fold_without_a_label_gives_it_to_no_document() -> None:
    margins = np.array([[1, 1], [0, 0], [1, 1], [0, 0]], np.float32)
    right = np.array([[1, 1], [0, 0], [1, 0], [0, 0]], bool)
    found = find_crossed_thresholds(margins, right, np.array([0, 0, 1, 1]), "micro_f1")
    assert found[1] > found[0] == pytest.approx(0.5)


def rare_and_frequent() -> tuple[np.ndarray, np.ndarray]:
    """Return margins and labels: eight documents of sixteen have the first label, one has the second."""
    margins, right = np.full((16, 2), -5, np.float32), np.zeros((16, 2), bool)
    margins[:, 0] = [3] * 8 + [-1] * 8
    margins[0, 1] = -2
    right[:8, 0] = right[0, 1] = True
    return margins, right


def test_the_threshold_of_a_rare_label_is_lower() -> None:
    # One threshold: at 3, 8 TP of 8 given, 16/17; at -2 all 16 of the first label come along, 18/26.
    margins, right = rare_and_frequent()
    found = find_frequency_thresholds(margins, right, (8, 1), "micro_f1")
    # The second label's wrong ones are at -5, and the first's at -1.
    assert -1 < found[0] < 3
    assert -5 < found[1] < -2
    assert found[0] - found[1] > 1
    # Labels that are as frequent as each other have one threshold: halfway from 3 to -1.
    assert find_frequency_thresholds(margins, right, (8, 8), "micro_f1") == pytest.approx([1, 1])


def test_what_cannot_be_given_changes_nothing() -> None:
    margins, right = rare_and_frequent()
    withheld = np.vstack([margins, np.full((3, 2), -np.inf, np.float32)])
    more = np.vstack([right, right[:3]])
    expected = find_frequency_thresholds(margins, right, (8, 1), "micro_f1")
    assert find_frequency_thresholds(withheld, more, (8, 1), "micro_f1") == pytest.approx(expected)
    unseen = np.hstack([right, np.ones((16, 1), bool)])
    assert find_frequency_thresholds(margins, unseen, (8, 1), "micro_f1") == pytest.approx(expected)


def test_where_nothing_is_right_no_label_is_given() -> None:
    margins, right = rare_and_frequent()
    found = find_frequency_thresholds(margins, np.zeros_like(right), (8, 1), "micro_f1")
    assert not (margins >= found).any()


@pytest.mark.parametrize("seed", range(5))
def test_micro_f1_loses_nothing_against_one_threshold(seed: int) -> None:
    generator = np.random.default_rng(seed)
    right = generator.random((200, 8)) < np.linspace(0.4, 0.01, 8)
    margins = (generator.normal(size=(200, 8)) + 2 * right - np.linspace(0, 1, 8)).astype(np.float32)
    single, found, free = (
        Counts.of_known(margins >= thresholds, right).metrics()
        for thresholds in (
            find_frequency_thresholds(margins, right, [1] * 8, "micro_f1"),  # no label is rarer than another
            find_frequency_thresholds(margins, right, right.sum(axis=0).tolist(), "micro_f1"),
            find_frequency_thresholds(margins, right, right.sum(axis=0).tolist(), "macro_f1"),
        )
    )
    assert found["micro_f1"] >= single["micro_f1"] - 1e-9
    assert free["macro_f1"] >= found["macro_f1"] - 1e-9 >= single["macro_f1"] - 2e-9
