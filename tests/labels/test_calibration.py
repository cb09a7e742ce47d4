from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from seq2set.labels.calibration import Sigmoid, fit_sigmoid


def test_a_known_sigmoid_is_found_again() -> None:
    random = np.random.default_rng(1)
    margins = random.normal(-1, 1.5, (2_000, 50)).astype(np.float32)
    targets = random.random(margins.shape) < expit(2.5 * margins - 0.7)
    found = fit_sigmoid(margins, targets)
    # 100,000 draws: the standard error of both is about 0.02.
    assert found.slope == pytest.approx(2.5, abs=0.08)
    assert found.offset == pytest.approx(-0.7, abs=0.08)


def test_separable_data_stays_finite() -> None:
    found = fit_sigmoid(np.array([-1, 1], np.float32), np.array([False, True]))
    # Platt's targets are 1/3 and 2/3, so that the best slope is logit(2/3) = ln 2 and the offset 0.
    assert found.slope == pytest.approx(np.log(2), abs=1e-4)
    assert found.offset == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("targets", [[], [True, True], [False, False]])
def test_nothing_to_fit(targets: list[bool]) -> None:
    assert fit_sigmoid(np.ones(len(targets), np.float32), np.array(targets, bool)) == Sigmoid(1.0, 0.0)


def test_margins_that_say_the_opposite_are_not_believed() -> None:
    margins = np.array([1, 1, -1, -1], np.float32)
    assert fit_sigmoid(margins, np.array([False, False, True, True])) == Sigmoid(1.0, 0.0)


def test_the_sigmoid() -> None:
    # 1 / (1 + exp(-(2 * 0.5 - 1))) = 1/2
    assert Sigmoid(2.0, -1.0)(np.array([0.5], np.float32))[0] == 0.5


def test_a_weighted_logistic_regression_finds_the_same() -> None:
    random = np.random.default_rng(2)
    margins = random.normal(-1, 2, 300).astype(np.float32)
    targets = random.random(300) < expit(1.5 * margins + 0.4)
    positives = targets.sum()
    # A soft target t is a positive example of the weight t and a negative one of 1 - t.
    soft = np.where(targets, (positives + 1) / (positives + 2), 1 / (300 - positives + 2))
    regression = LogisticRegression(C=1e12, tol=1e-10, solver="newton-cholesky")
    x, y = np.tile(margins.astype(np.float64), 2)[:, None], np.repeat([1, 0], 300)
    regression.fit(x, y, sample_weight=np.concatenate([soft, 1 - soft]))
    found = fit_sigmoid(margins, targets)
    assert found.slope == pytest.approx(regression.coef_[0, 0], abs=1e-6)
    assert found.offset == pytest.approx(regression.intercept_[0], abs=1e-6)
