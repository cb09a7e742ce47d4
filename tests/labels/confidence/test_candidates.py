"""Calibrators are fitted on pairs whose true probabilities are known."""

from __future__ import annotations

import numpy as np
import pytest

from seq2set.labels.confidence import candidates
from seq2set.labels.confidence.candidates import (
    WAYS,
    CalibrationSample,
    cross_fit,
    fit_candidates,
    fit_isotonic,
    fit_label_offsets,
    fit_logistic,
    score_probabilities,
)


def expit(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def draw(documents: int, labels: int, *, sharpness: float, seed: int = 1) -> CalibrationSample:
    """Draw labels by their true log-odds, and scores that are too sure of them."""
    random = np.random.default_rng(seed)
    odds = random.normal(-2, 2, (documents, labels))
    right = random.random(odds.shape) < expit(odds)
    scores = expit(sharpness * odds + 1).astype(np.float32)
    return CalibrationSample(scores, None, right, np.arange(documents) % 5)


def test_platt_finds_the_log_odds_again() -> None:
    # score = expit(3 x odds + 1), so odds = (logit - 1) / 3
    found = fit_logistic(draw(4000, 5, sharpness=3).pairs(), ("logit",))
    assert found.weights["logit"] == pytest.approx(1 / 3, abs=0.02)
    assert found.offset == pytest.approx(-1 / 3, abs=0.05)


def test_pairs_that_are_left_out_are_stood_for(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = draw(4000, 5, sharpness=3)
    whole = fit_logistic(sample.pairs(), ("logit",))
    monkeypatch.setattr(candidates, "MOST_PAIRS", 6000)
    pairs = sample.pairs()
    assert len(pairs.scores) < 14_000
    assert pairs.weights.sum() == pytest.approx(20_000)
    assert pairs.right.sum() == sample.right.sum()
    some = fit_logistic(pairs, ("logit",))
    assert some.weights["logit"] == pytest.approx(whole.weights["logit"], abs=0.02)


def test_a_weight_that_would_turn_the_order_round_is_dropped() -> None:
    random = np.random.default_rng(1)
    scores = random.uniform(0.01, 0.99, (3000, 2)).astype(np.float32)
    right = random.random(scores.shape) < np.where(scores < 0.5, scores, 0.5)  # flat at the top
    found = fit_logistic(
        CalibrationSample(scores, None, right, np.zeros(3000, int)).pairs(), ("log", "log_rest")
    )
    assert found.keeps_order
    assert all(weight > 0 for weight in found.weights.values())


def test_the_offset_of_a_rare_label_shrinks() -> None:
    random = np.random.default_rng(1)
    scores = np.full((2000, 2), 0.5, np.float32)
    right = random.random(scores.shape) < 0.8
    right[:, 0] = random.random(2000) < 0.5
    sample = CalibrationSample(scores, None, right, np.zeros(2000, int))
    many = fit_label_offsets(sample.pairs(), ("logit",), 2).label_offsets
    pairs = sample.pairs()
    few = fit_label_offsets(
        pairs.pick((pairs.labels == 0) | (np.arange(4000) < 12)), ("logit",), 2
    ).label_offsets
    assert many[1] - many[0] == pytest.approx(np.log(4), abs=0.2)
    assert 0 < few[1] - few[0] < (many[1] - many[0]) / 2


def test_the_prior_says_which_saturated_scores_are_right() -> None:
    random = np.random.default_rng(1)
    odds = random.normal(-2, 3, (1500, 8))
    right = random.random(odds.shape) < expit(odds)
    scores = np.where(odds + random.normal(0, 2, odds.shape) > 0, 0.999, 0.01).astype(np.float32)
    sample = CalibrationSample(scores, odds.astype(np.float32), right, np.arange(1500) % 5)
    candidates = fit_candidates(sample)
    assert next(one.name for one in candidates).startswith("margin")
    assert {one.name for one in candidates} == set(WAYS)
    losses = [one.held_out.log_loss for one in candidates]
    assert losses == sorted(losses)
    best = candidates[0].probabilities
    sure = best >= 0.95
    assert sure.sum() > 200
    assert right[sure].mean() > 0.94
    by_score = next(one for one in candidates if one.name == "isotonic").probabilities
    assert not (by_score >= 0.95).any(), "the score alone cannot say which"


def test_probabilities_are_held_out_and_can_be_computed_again() -> None:
    sample = draw(400, 4, sharpness=2)
    found = {one.name: one for one in fit_candidates(sample)}
    assert not any(name.startswith("margin") for name in found), "there is no prior"
    beta = found["beta"]
    assert np.array_equal(cross_fit("beta", sample), beta.probabilities)
    rows = sample.fold == 2
    rest = sample.pick(~rows).pairs()
    expected = fit_logistic(rest, ("log", "log_rest"))(sample.scores[rows])
    assert np.allclose(beta.probabilities[rows], expected, atol=1e-6)


def test_proper_scores_by_hand() -> None:
    pairs = CalibrationSample(
        np.array([[0.5, 0.5]], np.float32), None, np.array([[True, False]]), np.zeros(1, int)
    ).pairs()
    # (0.2 squared + 0.4 squared) / 2; -(ln 0.8 + ln 0.6) / 2
    brier, log_loss = score_probabilities(np.array([0.8, 0.4]), pairs)
    assert (brier, log_loss) == (pytest.approx(0.1), pytest.approx(0.3669846))


def test_scores_that_are_right_already_stay_as_they_are() -> None:
    random = np.random.default_rng(2)
    scores = random.uniform(0.01, 0.99, (60, 4)).astype(np.float32)
    right = random.random(scores.shape) < scores
    best = fit_candidates(CalibrationSample(scores, None, right, np.arange(60) % 5))[0]
    assert best.name == "identity"
    assert best.probabilities == pytest.approx(scores, abs=1e-6)


def test_scores_that_are_all_the_same_become_the_share_of_right_labels() -> None:
    right = np.arange(400).reshape(200, 2) % 4 == 0
    sample = CalibrationSample(np.full((200, 2), 0.9, np.float32), None, right, np.arange(200) // 2 % 5)
    for candidate in fit_candidates(sample):
        shared = candidate.name not in ("identity", "temperature") and "per-label" not in candidate.name
        if shared:
            assert candidate.calibrator(sample.scores[:1])[0, 0] == pytest.approx(0.25, abs=0.01)


def test_a_line_never_says_always_or_never() -> None:
    right = np.array([[False], [True], [True], [True]])
    sample = CalibrationSample(
        np.array([[0.2], [0.7], [0.8], [0.9]], np.float32), None, right, np.zeros(4, int)
    )
    line = fit_isotonic(sample.pairs()).shared
    # One more right at 0.2: 1 of 2. One more wrong at 0.9, which has 1 of 2 then; with 0.8 and 0.7, 3 of 4.
    assert line.probabilities == pytest.approx([0.5, 0.75, 0.75])


def test_folds_can_be_held_out_where_the_rest_has_both_kinds_of_labels() -> None:
    right = np.array([[1, 0], [1, 0], [1, 1]], bool)
    scores = np.full(right.shape, 0.5, np.float32)
    assert CalibrationSample(scores, None, right, np.array([0, 1, 2])).can_hold_out()
    assert not CalibrationSample(scores, None, right, np.array([0, 0, 1])).can_hold_out()
    assert not CalibrationSample(scores, None, right, np.zeros(3, int)).can_hold_out()
