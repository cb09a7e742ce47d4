"""Thresholds from documents that were scored out of fold."""

from __future__ import annotations

import numpy as np
import pytest

from seq2set.labels.crossed_thresholds import ROLLBACK, find_crossed_thresholds


def test_the_mean_over_folds_is_drawn_towards_the_shared_threshold() -> None:
    # In each fold everything from the one right document on: midway between 1 and 0, and 3 and 2.
    margins = np.array([[1.0], [0.0], [3.0], [2.0]], np.float32)
    right = np.array([[1], [0], [1], [0]], bool)
    # Pooled, {3, 2, 1} gives 2 TP of 3 given, 4/5; {3} alone gives 2/3: the shared threshold is 0.5.
    # Two documents have the label, so that its own threshold, (0.5 + 2.5) / 2, weighs 2 / (2 + ROLLBACK).
    assert ROLLBACK == 2
    found = find_crossed_thresholds(margins, right, np.array([0, 0, 1, 1]), "micro_f1")
    assert found == pytest.approx([0.5 * 1.5 + 0.5 * 0.5])


def test_each_label_has_its_own_scale() -> None:
    # Midway between right and wrong: 5 and -5, in every fold. At -5 for both, all 12 of the second label and
    # all 24 of the first are given, 24 TP, 48/60; at 5 there are 12 TP, 24/36: the shared threshold is -5.
    margins = np.tile(np.array([[6, -4], [4, -6]], np.float32), (12, 1))
    right = np.tile(np.array([[1, 1], [0, 0]], bool), (12, 1))
    found = find_crossed_thresholds(margins, right, np.arange(24) // 8, "macro_f1")
    # Twelve documents against ROLLBACK, 2.
    assert found == pytest.approx([(12 * 5 + 2 * -5) / 14, -5])


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
