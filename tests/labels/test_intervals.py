from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from seq2set.config.catalog import METRICS
from seq2set.labels import intervals
from seq2set.labels.intervals import Interval, compute_intervals


def make_labels(documents: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    right = generator.random((documents, 4)) < 0.4
    return np.where(generator.random(right.shape) < 0.2, ~right, right), right


def test_every_metric_has_an_interval_around_its_value() -> None:
    given, right = make_labels(200)
    found = compute_intervals(given, right)
    assert list(found) == list(METRICS)
    for name, value in intervals.Counts.of(given, right).metrics().items():
        assert found[name].low < value < found[name].high, name


def test_two_documents_have_three_resamples() -> None:
    # One document is right and one is wrong. Drawn twice: both right (1/4), one each (1/2), both wrong (1/4),
    # so that the share of exact ones is 0 in a quarter and 1 in a quarter of the resamples.
    found = compute_intervals([[1, 0], [1, 0]], [[1, 0], [0, 1]])
    assert found["subset_accuracy"] == Interval(0.0, 1.0)
    assert found["hamming_loss"] == Interval(0.0, 1.0)


def test_all_right_leaves_nothing_open() -> None:
    given, _ = make_labels(50)
    assert compute_intervals(given, given)["micro_f1"] == Interval(1.0, 1.0)


def test_it_is_scipys_bootstrap() -> None:
    given, right = make_labels(150)
    exact = (given == right).all(axis=1).astype(float)
    drawn = stats.bootstrap(
        (exact,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    )
    found = compute_intervals(given, right)["subset_accuracy"]
    # Both are drawn: 1,000 resamples place a bound within about a tenth of the interval's width.
    width = drawn.confidence_interval.high - drawn.confidence_interval.low
    assert abs(found.low - drawn.confidence_interval.low) < width / 8
    assert abs(found.high - drawn.confidence_interval.high) < width / 8


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
    assert len(list(intervals._resample([units], 4, 1))) == 200


def test_the_farther_bound_is_shown() -> None:
    assert Interval(0.5, 0.9).half_width(0.8) == pytest.approx(0.3)
    assert Interval(0.75, 0.9).half_width(0.8) == pytest.approx(0.1)
