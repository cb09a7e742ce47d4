import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss, log_loss

from seq2set.labels.reliability import ReliabilityCounts, compute_wilson_interval

SCORES = np.array([[0.9, 0.9, 0.2], [0.9, 0.9, 0.2]], np.float32)
RIGHT = np.array([[1, 1, 0], [1, 0, 0]], bool)


def test_calibration_error_by_hand():
    # 0.9: 3 of 4 right, off by 0.15; 0.2: 0 of 2 right, off by 0.2; (4 * 0.15 + 2 * 0.2) / 6 = 1 / 6.
    metrics = ReliabilityCounts.of(SCORES, RIGHT).metrics()
    assert metrics["calibration_error"] == pytest.approx(1 / 6, abs=1e-6)
    # 3 * 0.01 + 0.81 + 2 * 0.04 = 0.92, over 6 scores.
    assert metrics["brier"] == pytest.approx(0.92 / 6, abs=1e-6)
    assert metrics["log_loss"] == pytest.approx(
        -(3 * np.log(0.9) + np.log(0.1) + 2 * np.log(0.8)) / 6, abs=1e-6
    )


def test_brier_and_log_loss_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    scores = rng.random((50, 7)).astype(np.float32)
    right = rng.random((50, 7)) < scores
    metrics = ReliabilityCounts.of(scores, right).metrics()
    assert metrics["brier"] == pytest.approx(brier_score_loss(right.ravel(), scores.ravel()), abs=1e-7)
    assert metrics["log_loss"] == pytest.approx(
        log_loss(right.ravel(), scores.ravel().astype(float)), abs=1e-7
    )


def test_counts_of_batches_add_up():
    rng = np.random.default_rng(2)
    scores = rng.random((40, 5)).astype(np.float32)
    right = rng.random((40, 5)) < 0.3
    whole = ReliabilityCounts.of(scores, right)
    parts = ReliabilityCounts.of(scores[:13], right[:13]) + ReliabilityCounts.of(scores[13:], right[13:])
    assert parts.metrics() == pytest.approx(whole.metrics(), abs=1e-12)
    np.testing.assert_allclose(parts.bins(), whole.bins(), atol=1e-12)


def test_scores_below_a_twentieth_do_not_count_for_what_is_suggested():
    scores, right = np.full((1, 99), 0.01, np.float32), np.ones((1, 99), bool)
    both = ReliabilityCounts.of(scores, right) + ReliabilityCounts.of(SCORES, RIGHT)
    assert both.metrics()["calibration_error"] == pytest.approx(1 / 6, abs=1e-6)
    # 99 scores are off by 0.99, and the six by 1/6.
    assert both.metrics()["calibration_error_all"] == pytest.approx((99 * 0.99 + 1) / 105, abs=1e-6)


def test_right_probabilities_have_a_small_error_and_bins_of_even_weight():
    rng = np.random.default_rng(3)
    scores = rng.random((1000, 30)).astype(np.float32)
    counts = ReliabilityCounts.of(scores, rng.random((1000, 30)) < scores)
    assert counts.metrics()["calibration_error"] < 0.01
    bins = counts.bins()
    assert len(bins) == 15
    assert {one.scores for one in bins} <= set(range(1850, 1960))  # 28,500 of 30,000 scores in 15 bins
    assert all(one.low <= one.right <= one.high for one in bins)


def test_nothing_scored_has_no_bins():
    counts = ReliabilityCounts.of(np.zeros((2, 2), np.float32), np.zeros((2, 2), bool))
    assert counts.bins() == []
    assert counts.metrics()["calibration_error"] == 0


def test_scores_of_zero_and_one_have_a_finite_log_loss():
    counts = ReliabilityCounts.of(np.array([[0, 1]], np.float32), np.array([[True, False]]))
    assert counts.metrics()["log_loss"] == pytest.approx(-np.log(1e-6))


@pytest.mark.parametrize(("right", "count"), [(0, 5), (3, 7), (40, 41)])
def test_interval_is_that_of_scipy(right, count):
    wanted = binomtest(right, count).proportion_ci(method="wilson")
    assert compute_wilson_interval(right, count) == pytest.approx((wanted.low, wanted.high), abs=1e-6)
