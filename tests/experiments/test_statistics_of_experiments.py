from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from seq2set.experiments.analysis.estimates import (
    MANY_SEEDS,
    Estimate,
    Interval,
    Variance,
    adjust_by_holm,
    compute_spread,
)
from seq2set.experiments.analysis.statistics import MeasuredRatio, combine, compute_f1_parts
from seq2set.experiments.render.tables import Range

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


def row(
    name: str, *counts: np.ndarray, units: np.ndarray | None = None, random: bool = True
) -> MeasuredRatio:
    parts = np.stack([compute_f1_parts(one) for one in counts])
    documents = np.arange(parts.shape[1]) if units is None else units
    return MeasuredRatio.of(
        parts, documents, [f"{name}-{seed}" for seed in range(len(counts))], random=random
    )


def difference(ours: MeasuredRatio, theirs: MeasuredRatio) -> Estimate:
    return combine([(1.0, ours), (-1.0, theirs)])


def test_spread_is_the_sample_deviation() -> None:
    # Around the mean 3 the squares are 4, 1 and 9: 14 / 2 = 7.
    assert compute_spread([1, 2, 6]) == pytest.approx((3, 7**0.5))
    assert compute_spread([0.25]) == (0.25, None)


def test_the_variance_over_documents_worked_by_hand() -> None:
    # F1 = 2 / 4. Each document pulls by (2 x right - F1 x (given + actual)) / 4: (2 - 1) / 4 and (0 - 1) / 4.
    # Squared and summed 2 / 16, times 2 documents over 1 degree of freedom: 1 / 4.
    found = row("br", np.array([RIGHT, WRONG]), random=False).estimate
    assert (found.value, found.documents, found.seeds) == (0.5, Variance(0.25, 1), ())
    # The 97.5 % quantile of t with one degree of freedom is tan(0.475 pi) = 12.706.
    assert found.interval == pytest.approx((0.5 - 0.5 * 12.7062, 0.5 + 0.5 * 12.7062), abs=1e-3)


def test_documents_of_a_group_are_summed_first() -> None:
    # Two groups of two: the pulls of each document are +-1/8, of a group +-1/4, so that the variance is
    # 2 x (1/16) x 2/1 = 1/4, where four documents by themselves have 4 x (1/64) x 4/3 = 1/12.
    counts = np.array([RIGHT, RIGHT, WRONG, WRONG])
    grouped = row("br", counts, units=np.array(["x", "x", "y", "y"]), random=False).estimate
    assert grouped.documents == Variance(0.25, 1)
    alone = row("br", counts, random=False).estimate.documents
    assert alone == (pytest.approx(1 / 12), 3)


def test_seeds_and_documents_add_up() -> None:
    # The seeds have F1 1/2, 1 and 1: variance 1/12 over 3 seeds is 1/36. The documents pull by 1/4, -1/4 in
    # the first and by 0 in the others, on average by 1/12 and -1/12: 2/144 x 2 = 1/36. Together 1/18.
    right = np.array([RIGHT, RIGHT])
    found = row("simp", np.array([RIGHT, WRONG]), right, right).estimate
    assert found.documents == Variance(pytest.approx(1 / 36), 1)
    assert found.seeds == (Variance(pytest.approx(1 / 36), 2),)
    assert found.value == pytest.approx(5 / 6)
    assert found.error == pytest.approx(18**-0.5)
    # For the degrees of freedom the seeds count twice, in 36ths: (1 + 2)^2 / (1^2 / 1 + 2^2 / 2) = 3, which
    # are more than the one that two documents have.
    assert found.degrees == 1
    many = replace(found, documents=Variance(found.documents.value, 4.0))
    assert many.degrees == pytest.approx(9 / (1 / 4 + 2))
    # The 97.5 % quantile of t with one degree of freedom is 12.7062.
    reach = 12.7062 * 18**-0.5
    assert found.interval == pytest.approx((5 / 6 - reach, 5 / 6 + reach), abs=1e-4)


def test_a_large_group_counts_for_more_and_leaves_fewer_degrees_of_freedom() -> None:
    # Groups x (2 documents, one of them right), y (right) and z (wrong) have shares 1/2, 1/4 and 1/4 of the 8
    # labels that are given or true. F1 is 4/8, so they pull by 0, 1/8 and -1/8: 2/64 / (1 - 1/4) = 1/24.
    counts = np.array([RIGHT, WRONG, RIGHT, WRONG])
    found = row("br", counts, units=np.array(list("xxyz")), random=False).estimate
    # 1 / (1/4 + 1/16 + 1/16) = 8/3 groups of equal size, of which one degree is lost.
    assert found.documents == (pytest.approx(1 / 24), pytest.approx(8 / 3 - 1))
    # Equal groups: 1 / (1 - 1/4) = 4/3 as in a sample variance.
    equal = row("br", counts, units=np.array(list("wxyz")), random=False).estimate
    assert equal.documents == (pytest.approx(4 / 64 * 4 / 3), pytest.approx(3))


def test_seeds_do_not_make_up_for_groups() -> None:
    """By Satterthwaite alone the interval holds the true value in 88 % of simulations with two groups."""
    seeds = (Variance(0.04, 2), Variance(0.04, 2))
    assert Estimate(0.5, Variance(0.01, 1), seeds).degrees == 1
    assert Estimate(0.5, Variance(0.01, 500), seeds).degrees == pytest.approx(
        0.17**2 / (0.0064 + 0.0001 / 500)
    )


def test_one_group_has_no_interval() -> None:
    found = row("br", np.array([RIGHT, WRONG]), units=np.array(["x", "x"]), random=False).estimate
    assert found.interval == (-np.inf, np.inf)
    assert Range(found.interval).text() == "–"
    assert Range(found.interval).data() is None


def test_the_part_of_the_seeds_is_welchs_test() -> None:
    # On documents that all models treat alike only the seeds differ: what is left is Welch's test of scipy.
    def trained(name: str, rights: list[int]) -> MeasuredRatio:
        parts = np.array([[[right, 100.0]] * 40 for right in rights])
        return MeasuredRatio.of(parts, np.arange(40), [f"{name}{right}" for right in rights])

    ours, theirs = [61, 66, 64, 70], [55, 58, 63]
    found = difference(trained("a", ours), trained("b", theirs))
    welch = stats.ttest_ind(ours, theirs, equal_var=False)
    assert found.documents.value == pytest.approx(0)
    assert found.degrees == pytest.approx(welch.df)
    assert found.compute_p() == pytest.approx(welch.pvalue)
    low, high = welch.confidence_interval(0.95)
    assert found.interval == pytest.approx((low / 100, high / 100))


def test_the_part_of_the_documents_is_scipys_bootstrap() -> None:
    ours, theirs = some_counts(400, seed=3), some_counts(400, seed=4, ease=0.6)
    drawn = stats.bootstrap(
        (np.arange(400),),
        lambda places: f1(ours[places]) - f1(theirs[places]),
        n_resamples=3000,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(5),
    )
    found = difference(row("br", ours, random=False), row("cc", theirs, random=False))
    assert found.error == pytest.approx(drawn.standard_error, rel=0.05)
    assert found.interval == pytest.approx(tuple(drawn.confidence_interval), abs=0.004)


def test_p_of_deterministic_models_is_that_of_a_permutation_test() -> None:
    ours, theirs = some_counts(150, seed=7, ease=0.75), some_counts(150, seed=8, ease=0.68)
    both = np.concatenate([ours, theirs])
    exact = stats.permutation_test(
        (np.arange(150), np.arange(150, 300)),
        lambda a, b: f1(both[a]) - f1(both[b]),
        permutation_type="samples",
        n_resamples=5000,
        vectorized=False,
        rng=np.random.default_rng(1),
    ).pvalue
    assert 0.02 < exact < 0.5
    found = difference(row("br", ours, random=False), row("cc", theirs, random=False))
    assert found.compute_p() == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_of_a_random_model_have_no_p(seeds: int) -> None:
    ours, theirs = some_counts(60, seed=1, ease=0.95), some_counts(60, seed=1, ease=0.3)
    few = difference(row("simp", *[ours] * seeds), row("br", theirs, random=False))
    assert few.few
    assert few.compute_p() is None
    assert few.count_seeds_to_settle() is None
    fixed = difference(row("cc", ours, random=False), row("br", theirs, random=False))
    assert not fixed.few
    assert fixed.compute_p() == pytest.approx(0, abs=1e-6)
    # The interval is of these trained models: what other documents would change.
    assert few.interval == pytest.approx(fixed.interval)
    assert not difference(row("simp", *[ours] * 3), row("br", theirs, random=False)).few


def test_a_row_does_not_differ_from_itself() -> None:
    one = row("simp", some_counts(30, seed=1))
    found = difference(one, one)
    assert (found.value, found.interval, found.few, found.compute_p()) == (0, Interval(0, 0), False, 1.0)
    # The same training is no worse by any margin; another one that gave the same answers on 30 documents may
    # be worse by a point: 0.99^30 = 0.74. On 300 documents 0.99^300 = 0.049.
    assert found.compute_p(-0.01) == 0
    twin = difference(one, row("twin", some_counts(30, seed=1), random=False))
    assert twin.few
    fixed = [row(name, some_counts(30, seed=1), random=False) for name in ("br", "cc")]
    assert difference(*fixed).compute_p(-0.01) == pytest.approx(0.99**30)
    many = [row(name, some_counts(300, seed=1), random=False) for name in ("br", "cc")]
    assert difference(*many).compute_p(-0.01) == pytest.approx(0.99**300)


def test_seeds_that_agree_add_nothing() -> None:
    counts, other = some_counts(60, seed=1, ease=0.9), row("br", some_counts(60, seed=2), random=False)
    found = difference(row("simp", counts, counts, counts), other)
    alone = difference(row("cc", counts, random=False), other)
    assert found.seeds == (Variance(pytest.approx(0, abs=1e-30), 2),)
    assert found.interval == pytest.approx(alone.interval)


def test_the_difference_is_paired() -> None:
    # The one is better by the same step on every document, so pairs leave far less doubt than either model.
    theirs = some_counts(100, seed=9)
    ours = theirs + np.array([1, 1, 1])
    found = difference(row("a", ours, random=False), row("b", theirs, random=False))
    assert found.value == pytest.approx(f1(ours) - f1(theirs))
    assert found.error < row("a", ours, random=False).estimate.error / 2


def test_the_same_trainings_measured_twice_move_together() -> None:
    # Each seed loses the same 1/2 from the one measure to the other, however high it stands.
    def measured(rights: list[int], names: list[str]) -> MeasuredRatio:
        return MeasuredRatio.of(np.array([[[right, 10.0]] * 9 for right in rights]), np.arange(9), names)

    high, low = measured([6, 8, 7], ["s1", "s2", "s3"]), measured([1, 3, 2], ["s1", "s2", "s3"])
    found = difference(low, high)
    assert found.value == pytest.approx(-0.5)
    assert found.error == pytest.approx(0)
    # Other trainings: 2 x 0.1^2 / 3.
    apart = measured([1, 3, 2], ["s4", "s5", "s6"])
    assert difference(apart, high).error == pytest.approx((0.02 / 3) ** 0.5)


def test_rows_on_other_documents_are_put_side_by_side_by_unit() -> None:
    whole = row("br", np.array([RIGHT, WRONG, RIGHT, WRONG]), units=np.array(list("abcd")), random=False)
    part = row("br", np.array([WRONG, RIGHT]), units=np.array(list("da")), random=False)
    # The second half pulls by 1/8, -1/8, 1/8, -1/8 in the whole and by 1/4 and -1/4 of a and d in the part.
    found = difference(part, whole)
    pulls = np.array([1 / 4 - 1 / 8, 1 / 8, -1 / 8, -1 / 4 + 1 / 8])
    # Shares of 1/4 in the whole; a and d have 1/2 in the part, b and c none: on average 3/8 and 1/8.
    shares = np.array([3 / 8, 1 / 8, 1 / 8, 3 / 8])
    assert found.documents.value == pytest.approx((pulls**2 / (1 - shares)).sum())


def test_few_documents_that_differ_cannot_be_significant() -> None:
    # All right against all wrong leaves no variance at all, but of 4 documents 2 of 16 deals are as extreme.
    ours, theirs = np.array([RIGHT] * 4 + [RIGHT] * 20), np.array([WRONG] * 4 + [RIGHT] * 20)
    sure = difference(row("a", ours[:4], random=False), row("b", theirs[:4], random=False))
    assert (sure.error, sure.compute_p()) == (0, 2 / 16)
    # And four that differ among many alike are no more than four.
    assert difference(row("a", ours, random=False), row("b", theirs, random=False)).documents.degrees == 3


def test_how_many_seeds_would_settle_it() -> None:
    # One seed has variance 0.0002, two sides; documents have 0.00002 and very many degrees of freedom.
    def seen(value: float, documents: float = 0.00002) -> Estimate:
        return Estimate(
            value, Variance(documents, 10_000), (Variance(0.0002 / 3, 2), Variance(0.0002 / 3, 2))
        )

    # Variances 2 and 2 x 20/3 in 100,000ths, seeds counted twice: (2 + 80/3)^2 / (2 x (40/3)^2 / 2) = 4.62
    # degrees, and 0.02 is 1.616 standard errors.
    assert seen(0.02).degrees == pytest.approx(4.62, abs=0.01)
    assert seen(0.02).compute_p() == pytest.approx(0.172, abs=0.001)
    needed = seen(0.02).count_seeds_to_settle()
    assert needed is not None
    # With n seeds the variance is 0.00002 + 0.0004 / n, and 0.02 must be t(0.975) + t(0.8) standard errors:
    # about (0.02 / 2.85)^2 = 0.0000492, so that n is about 0.0004 / 0.0000292 = 13.7.
    assert 13 <= needed <= 15
    # Against Holm's adjustment for 5 tests t(0.995) + t(0.8) are about 3.5: (0.02 / 3.5)^2 = 0.0000327, so
    # that n is about 0.0004 / 0.0000127 = 31.
    strict = seen(0.02).count_seeds_to_settle(level=0.01)
    assert strict is not None
    assert 29 <= strict <= 36
    # Three were trained, so that the advice is more than three however large the difference.
    assert seen(0.5).count_seeds_to_settle() == 4
    # 2.8 standard errors of the documents alone are 0.0125: what is smaller has less power with any number.
    assert seen(0.0120).count_seeds_to_settle() is None
    assert seen(0.0127).count_seeds_to_settle() == MANY_SEEDS
    # But it may be settled down to 1.96 standard errors, 0.00877, and below by no number of seeds.
    assert seen(0.0089).can_settle()
    assert not seen(0.0087).can_settle()
    assert not seen(0.0089).can_settle(level=0.01)
    # Told from a margin of one point below zero, a difference of 0.01 is as far as one of 0.02 from zero.
    assert seen(0.01).count_seeds_to_settle(-0.01) == needed


def test_holm_worked_by_hand() -> None:
    # In ascending order 0.01 x 3, 0.03 x 2 and 0.04 x 1, and never less than the one before.
    assert adjust_by_holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert adjust_by_holm([0.6, 0.7]) == [1.0, 1.0]
    assert adjust_by_holm([]) == []
    # What was not tested is not counted.
    assert adjust_by_holm([None, 0.03, None, 0.02]) == [None, 0.04, None, 0.04]
