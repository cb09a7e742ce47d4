from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from seq2set.models.lp import SHARPEST, Posterior, fit_posterior

HOLDS = csr_matrix(np.array([[1, 0], [1, 1], [0, 0]], np.float32))
"""Three combinations: the first label alone, both, and none."""


def test_a_label_has_the_probability_of_its_combinations() -> None:
    margins = np.log(np.array([[1, 2, 5], [3, 3, 2]], np.float32))
    posterior = Posterior(HOLDS, 1.0)
    assert posterior.combinations(margins) == pytest.approx(
        np.array([[0.125, 0.25, 0.625], [0.375, 0.375, 0.25]]), abs=1e-6
    )
    scores = posterior.labels(margins)
    assert scores.dtype == np.float32
    assert scores == pytest.approx(np.array([[0.375, 0.25], [0.75, 0.375]]), abs=1e-6)


def test_the_scale_sharpens() -> None:
    margins = np.log(np.array([[1, 2, 1]], np.float32))
    # Twice the scale squares the odds: 1 : 4 : 1.
    assert Posterior(HOLDS, 2.0).labels(margins) == pytest.approx(np.array([[5 / 6, 4 / 6]]), abs=1e-6)


def test_no_score_leaves_the_unit_interval() -> None:
    many = csr_matrix(np.ones((999, 1), np.float32))
    scores = Posterior(many, 1.0).labels(np.random.default_rng(1).normal(size=(500, 999)).astype(np.float32))
    assert scores.max() <= 1


def test_the_scale_is_the_likeliest() -> None:
    # One label, two combinations, margins 1 and 0: the label has the probability sigmoid(scale). Of four
    # documents three have it, so sigmoid(scale) = 3/4 and the scale is log 3.
    holds = csr_matrix(np.array([[1], [0]], np.float32))
    margins = np.tile(np.array([1, 0], np.float32), (4, 1))
    actual = np.array([[True], [True], [True], [False]])
    assert fit_posterior(holds, margins, actual).scale == pytest.approx(np.log(3), rel=0.01)


def test_a_scale_stays_finite_where_the_margins_are_always_right() -> None:
    holds = csr_matrix(np.array([[1], [0]], np.float32))
    margins = np.array([[1, 0], [0, 1]], np.float32)
    found = fit_posterior(holds, margins, np.array([[True], [False]]))
    assert 10 < found.scale <= SHARPEST
    assert found.labels(margins) == pytest.approx(np.array([[1], [0]]), abs=1e-4)
