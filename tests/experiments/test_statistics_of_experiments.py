from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seq2set.experiments.statistics import (
    Interval,
    bootstrap,
    compare,
    holm,
    measures,
    randomisation,
    spread,
)
from seq2set.metrics import Counts

RIGHT, WRONG = (1, 1, 1), (0, 1, 1)
"""A document with one label that was given, and one where another was."""


def some_counts(documents: int, seed: int, ease: float = 0.7) -> np.ndarray:
    draw = np.random.default_rng(seed)
    actual = draw.integers(1, 5, documents)
    right = draw.binomial(actual, ease)
    given = right + draw.integers(0, 3, documents)
    return np.stack([right, given, actual], axis=1)


def f1(counts: np.ndarray) -> float:
    right, given, actual = counts.sum(axis=0)
    return 2 * right / (given + actual)


def test_measures_worked_by_hand() -> None:
    # 3 right of 4 given and 5 true, in 2 documents of 10 labels: 1 + 2 of 20 decisions are wrong.
    found = measures(np.array([3, 4, 5]), 20)
    assert found["hamming_loss"] == pytest.approx(3 / 20)
    assert found["micro_precision"] == pytest.approx(3 / 4)
    assert found["micro_recall"] == pytest.approx(3 / 5)
    assert found["micro_f1"] == pytest.approx(6 / 9)
    assert [float(one) for one in measures(np.zeros(3), 20).values()] == [0, 0, 0, 0]


@given(st.integers(0, 10_000))
def test_measures_are_those_of_the_evaluation(seed: int) -> None:
    given_labels, right = np.random.default_rng(seed).integers(0, 2, (2, 6, 4))
    sums = np.array([(given_labels & right).sum(), given_labels.sum(), right.sum()])
    wanted = Counts.of(given_labels, right).metrics()
    for name, value in measures(sums, 24).items():
        assert value == pytest.approx(wanted[name])


def test_spread_is_the_sample_deviation() -> None:
    # Around the mean 3 the squares are 4, 1 and 9: 14 / 2 = 7.
    assert spread([1, 2, 6]) == pytest.approx((3, 7**0.5))
    assert spread([0.25]) == (0.25, None)


def test_documents_that_are_alike_leave_no_doubt() -> None:
    found = bootstrap(np.array([[(1, 2, 2)] * 5]), 4, resamples=50)
    # 1 right of 2 given and 2 true: 2 of 4 decisions are wrong.
    assert found["micro_f1"] == Interval(0.5, 0.5)
    assert found["hamming_loss"] == Interval(0.5, 0.5)


def test_two_documents_give_anything_from_nothing_to_all() -> None:
    # Both draws hit the same document in half of all resamples: F1 is 0 or 1 in a quarter each.
    assert bootstrap(np.array([[RIGHT, WRONG]]), 2, resamples=400)["micro_f1"] == Interval(0, 1)


def test_the_interval_is_scipys() -> None:
    counts = some_counts(120, seed=3)
    ours = bootstrap(counts[None], 10, resamples=4000)
    theirs = stats.bootstrap(
        (np.arange(120),),
        lambda places: f1(counts[places]),
        n_resamples=4000,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert ours["micro_f1"] == pytest.approx((theirs.low, theirs.high), abs=0.004)


def test_seeds_are_averaged_within_a_resample() -> None:
    # What one seed gets right the other gets wrong, so the mean is one half whatever is drawn.
    counts = np.array([[RIGHT, WRONG, RIGHT, WRONG], [WRONG, RIGHT, WRONG, RIGHT]])
    assert bootstrap(counts, 2, resamples=100)["micro_f1"] == pytest.approx((0.5, 0.5))


def test_a_seed_draws_the_same_again() -> None:
    counts = some_counts(50, seed=1)[None]
    once, again, other = (bootstrap(counts, 9, resamples=60, seed=seed) for seed in (4, 4, 5))
    assert once == again
    assert once != other


def test_many_documents_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = some_counts(60, seed=2)[None]
    whole = bootstrap(counts, 9, resamples=3000)["micro_f1"]
    monkeypatch.setattr("seq2set.experiments.statistics._AT_ONCE", 700)
    assert bootstrap(counts, 9, resamples=3000)["micro_f1"] == pytest.approx(whole, abs=0.01)
    assert randomisation(counts[0] * 1.0, counts[0] * 1.0, resamples=50) == 1


def test_randomisation_worked_by_hand() -> None:
    # Three documents, all right against all wrong: of 8 deals only "swap all" and "swap none" differ by 1.
    ours, theirs = np.array([RIGHT] * 3) * 1.0, np.array([WRONG] * 3) * 1.0
    assert randomisation(ours, theirs, resamples=8000) == pytest.approx(0.25, abs=0.02)
    # What was seen counts as one deal, so no chance is ever 0: here 1 of 2 ** 40 deals is as extreme.
    forty = np.repeat(ours[:1], 40, axis=0), np.repeat(theirs[:1], 40, axis=0)
    assert randomisation(*forty, resamples=199) == 1 / 200


def test_randomisation_is_scipys() -> None:
    ours, theirs = some_counts(11, seed=7, ease=0.8), some_counts(11, seed=8, ease=0.55)
    both = np.concatenate([ours, theirs])
    exact = stats.permutation_test(
        (np.arange(11), np.arange(11, 22)),
        lambda a, b: f1(both[a]) - f1(both[b]),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=False,
        alternative="two-sided",
    ).pvalue
    # Scipy doubles the smaller tail; every deal has its mirror image here, so both ways are the same.
    assert 0.01 < exact < 0.9
    assert randomisation(ours * 1.0, theirs * 1.0, resamples=20_000) == pytest.approx(exact, abs=0.015)


def test_a_model_does_not_differ_from_itself() -> None:
    counts = some_counts(30, seed=1)[None]
    found = compare(counts, counts, resamples=100)
    assert found == (0.0, Interval(0, 0), 1.0)


def test_the_difference_is_paired() -> None:
    # The one is better by the same step on every document, so pairs leave far less doubt than either model.
    theirs = some_counts(100, seed=9)
    ours = theirs + np.array([1, 1, 1])
    found = compare(ours[None], theirs[None], resamples=500)
    alone = bootstrap(ours[None], 9, resamples=500)["micro_f1"]
    assert found.value == pytest.approx(f1(ours) - f1(theirs))
    assert found.interval.low < found.value < found.interval.high
    assert found.interval.high - found.interval.low < (alone.high - alone.low) / 2


def test_models_may_have_different_numbers_of_seeds() -> None:
    ours = np.stack([some_counts(60, seed=seed, ease=0.95) for seed in (1, 1, 1)])
    theirs = some_counts(60, seed=1, ease=0.3)[None]
    found = compare(ours, theirs, resamples=300)
    # Three trainings that agree are worth one: the same value, interval and chance.
    alone = compare(ours[:1], theirs, resamples=300)
    assert found.value == pytest.approx(alone.value)
    assert found.interval == pytest.approx(alone.interval)
    assert found.chance == alone.chance == 1 / 301


def test_holm_worked_by_hand() -> None:
    # In ascending order 0.01 x 3, 0.03 x 2 and 0.04 x 1, and never less than the one before.
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
