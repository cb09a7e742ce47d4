from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

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
