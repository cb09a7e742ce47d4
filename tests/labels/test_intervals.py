from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from seq2set.config.catalog import METRICS
from seq2set.labels import intervals
from seq2set.labels.intervals import Interval, compute_intervals, find_reach
from seq2set.labels.metrics import Counts
from seq2set.labels.reliability import compute_wilson_interval


def make_labels(documents: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    right = generator.random((documents, 4)) < 0.4
    return np.where(generator.random(right.shape) < 0.2, ~right, right), right


def test_every_metric_has_an_interval_around_its_value() -> None:
    given, right = make_labels(200)
    found = compute_intervals(given, right)
    assert list(found) == list(METRICS)
    for name, value in Counts.of(given, right).metrics().items():
        assert found[name].low < value < found[name].high, name


def test_two_documents_have_three_resamples() -> None:
    # One document is right and one is wrong. Drawn twice: both right (1/4), one each (1/2), both wrong (1/4),
    # so that the share of exact ones is 0 in a quarter and 1 in a quarter of the resamples.
    found = compute_intervals([[1, 0], [1, 0]], [[1, 0], [0, 1]])
    assert found["subset_accuracy"] == Interval(0.0, 1.0)
    assert found["hamming_loss"] == Interval(0.0, 1.0)


def test_no_error_in_some_documents_leaves_open_what_others_have() -> None:
    """Wilson's bound of a share of 50 in 50 is 0.929; each metric could be that far from what was seen."""
    given, _ = make_labels(50)
    found = compute_intervals(given, given)
    low = compute_wilson_interval(50, 50)[0]
    for name in ("micro_precision", "micro_f1", "macro_f1", "example_f1", "subset_accuracy"):
        assert found[name] == pytest.approx((low, 1.0)), name
    # A document that is wrong altogether has as many wrong decisions as it has labels and was given.
    assert found["hamming_loss"] == pytest.approx((0.0, (1 - low) * 2 * given.mean()))
    wrong = compute_intervals(np.tile([1, 0], (50, 1)), np.tile([0, 1], (50, 1)))
    assert wrong["micro_f1"] == pytest.approx((0.0, 1 - low))
    assert compute_intervals(np.ones((50, 1)), np.ones((50, 1)))["hamming_loss"] == pytest.approx(
        (0, 1 - low)
    )
    # Nothing given, one of two labels missed: others may have wrong labels beside, half of all more.
    missed = compute_intervals(np.zeros((50, 2)), np.tile([1, 0], (50, 1)))["hamming_loss"]
    assert missed == pytest.approx((0.5 * low, 0.5 + 0.5 * (1 - low)))
    nothing = compute_intervals(np.zeros((50, 4)), np.zeros((50, 4)))["hamming_loss"]
    assert nothing == pytest.approx((0, (1 - low) / 4))  # one wrong label of four


def test_it_is_scipys_bootstrap() -> None:
    given, right = make_labels(150)
    exact = (given == right).all(axis=1).astype(float)
    drawn = stats.bootstrap((exact,), np.mean, n_resamples=20_000, rng=np.random.default_rng(1))
    found = compute_intervals(given, right)["subset_accuracy"]
    # Both are drawn: 1,000 resamples tell the standard error within about a fortieth.
    reach = drawn.standard_error * stats.t.ppf(0.975, 149)
    assert found == pytest.approx((exact.mean() - reach, exact.mean() + reach), abs=reach / 8)


def test_an_interval_of_a_macro_average_holds_its_figure() -> None:
    """A resample drops a rare label's only document, and its F1 then counts 0: not the figure's own fault."""
    right = np.eye(60, dtype=bool)[np.arange(96) % 60]
    given = right & (np.random.default_rng(1).random(right.shape) < 0.7)
    rare = np.eye(200, dtype=bool)[np.r_[0:200, np.arange(300) % 20]]
    for answers, truth in ((given, right), (rare, rare)):
        found = compute_intervals(answers, truth)
        for name, value in Counts.of(answers, truth).metrics().items():
            assert found[name].low <= value <= found[name].high, name
            assert found[name].high > found[name].low, name
    assert found["macro_f1"].low > 0.85  # where all of 200 labels are right
    # What resamples lose by labels that they lack is added above, and micro-F1 loses nothing.
    found, figures = compute_intervals(given, right), Counts.of(given, right).metrics()
    reach = {name: (value - found[name].low, found[name].high - value) for name, value in figures.items()}
    assert reach["macro_f1"][1] > 1.5 * reach["macro_f1"][0]
    assert reach["micro_f1"][1] == pytest.approx(reach["micro_f1"][0], rel=0.2)


def test_intervals_hold_the_true_value_as_often_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed predictor on samples of documents, whose figures on all documents are known."""
    monkeypatch.setattr(intervals, "RESAMPLES", 50)
    generator = np.random.default_rng(1)
    rates = 0.4 / np.arange(1, 13)
    recall, wrong = generator.uniform(0.5, 0.95, 12), rates / 5

    def draw(documents: int) -> list[np.ndarray]:
        right, chance = generator.random((documents, 12)) < rates, generator.random((documents, 12))
        return [np.where(right, chance < recall, chance < wrong), right]

    names = ("macro_f1", "micro_f1", "example_f1", "hamming_loss")
    true, held = Counts.of(*draw(100_000)).metrics(), dict.fromkeys(names, 0)
    for sample in range(60):
        found = compute_intervals(*draw(100), seed=sample)
        for name in names:
            held[name] += found[name].low <= true[name] <= found[name].high
    assert all(53 <= count <= 60 for count in held.values()), held


def test_two_groups_tell_little_of_others() -> None:
    """By t with as many degrees of freedom as groups less one; by quantiles of resamples half as wide."""
    right = np.ones((400, 1))
    for shares in ([0.7, 0.71], [0.6, 0.65, 0.7], [0.5, 0.55, 0.6, 0.7]):
        each = 400 // len(shares)
        given = np.concatenate([np.arange(each) < round(share * each) for share in shares])[:, None]
        groups = np.repeat(np.arange(len(shares)), each)
        found = compute_intervals(given, right[: len(given)], groups)["subset_accuracy"]
        parts = given.reshape(len(shares), each).mean(axis=1)
        expected = stats.t.interval(0.95, len(shares) - 1, parts.mean(), stats.sem(parts))
        assert found == pytest.approx(expected, abs=0.06 * (expected[1] - expected[0]))
    for degrees in (1, 1.5, 2, 7.3, 100, 50_000):
        wanted = stats.t.ppf(0.975, degrees) * (1 + 1 / degrees) ** 0.5
        assert find_reach(degrees + 1) == pytest.approx(wanted, rel=1e-3)


def test_one_unit_has_no_interval() -> None:
    """As in experiments: what other groups, or other documents, would say is not known at all."""
    given, right = make_labels(40)
    for found in (compute_intervals(given, right, ["a"] * 40), compute_intervals(given[:1], right[:1])):
        assert set(found.values()) == {Interval(-np.inf, np.inf)}
        assert [one.list_bounds() for one in found.values()] == [None] * len(METRICS)
    assert Interval(0.2, 0.4).list_bounds() == [0.2, 0.4]


def test_documents_of_a_group_are_drawn_together() -> None:
    given, right = make_labels(40)
    # Ten copies of each document are no further evidence: with groups the interval is as before.
    copies = np.repeat(np.arange(40), 10)
    alone, grouped = compute_intervals(given, right), compute_intervals(given[copies], right[copies], copies)
    for name in METRICS:
        assert grouped[name] == pytest.approx(alone[name])
    free = compute_intervals(given[copies], right[copies])
    assert free["micro_f1"].high - free["micro_f1"].low < 0.5 * (
        alone["micro_f1"].high - alone["micro_f1"].low
    )


def test_many_documents_are_drawn_from_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    given, right = make_labels(400)
    whole = compute_intervals(given, right)
    monkeypatch.setattr(intervals, "DOCUMENTS_AT_A_TIME", 90)  # four whole blocks and one of 40
    blocks = compute_intervals(given, right)
    for name in METRICS:  # other draws of the same distribution: bounds differ by a tenth of the width
        width = whole[name].high - whole[name].low
        assert blocks[name] == pytest.approx(whole[name], abs=width / 8), name
        assert blocks[name] != whole[name]
    # By groups all documents are one block, whatever their number.
    copies = np.repeat(np.arange(200), 2)
    grouped = compute_intervals(given, right, copies)
    monkeypatch.undo()
    assert compute_intervals(given, right, copies) == grouped


def test_the_same_documents_have_the_same_interval_again() -> None:
    given, right = make_labels(30)
    assert compute_intervals(given, right) == compute_intervals(given, right)
    assert compute_intervals(given, right) != compute_intervals(given, right, seed=2)


def test_large_splits_are_drawn_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    given, right = make_labels(20)
    monkeypatch.setattr(intervals, "_DRAWS", 0)
    units = intervals._DrawnUnits.of(given, right, None)
    assert len(list(intervals._resample([units], 4, 1))) == 1 + 200  # first the documents themselves


def test_the_farther_bound_is_shown() -> None:
    assert Interval(0.5, 0.9).half_width(0.8) == pytest.approx(0.3)
    assert Interval(0.75, 0.9).half_width(0.8) == pytest.approx(0.1)
