from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from seq2set.config import catalog
from seq2set.config.catalog import Metric, is_better, list_tunable
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.labels import thresholds
from seq2set.labels.metrics import Counts
from seq2set.labels.thresholds import GRID, find_threshold

METRICS = ("micro_f1", "macro_f1", "example_f1", "hamming_loss", "subset_accuracy")
SCORES = np.array([[0.9, 0.4, 0.1], [0.8, 0.6, 0.3]])
ACTUAL = np.array([[1, 0, 0], [1, 1, 0]])


def reached(scores, actual, value, metric):
    return Counts.of(scores >= value, actual).metrics()[metric]


def test_micro_f1_worked_by_hand():
    # The three labels that are right score 0.9, 0.8 and 0.6, the best wrong one 0.4: midway is 0.5.
    assert find_threshold(SCORES, ACTUAL, "micro_f1") == (pytest.approx(0.5), 1.0)


def test_hamming_loss_is_made_small():
    # Right: 0.9 and 0.3. Giving one label leaves one mistake in 6, giving five of them makes three.
    actual = np.array([[1, 0, 0], [0, 0, 1]])
    assert find_threshold(SCORES, actual, "hamming_loss") == (pytest.approx(0.85), pytest.approx(1 / 6))


def test_giving_nothing_may_be_best():
    actual = np.array([[0, 0, 1], [0, 0, 0]])
    value, score = find_threshold(SCORES, actual, "hamming_loss")
    assert (value, score) == (np.nextafter(0.9, 1.0), 1 / 6)
    assert not (value <= SCORES).any()


def test_without_a_right_label_nothing_is_given():
    assert find_threshold(SCORES, np.zeros((2, 3)), "micro_f1") == (np.nextafter(0.9, 1.0), 0.0)
    assert find_threshold(SCORES, np.zeros((2, 3)), "example_f1") == (np.nextafter(0.9, 1.0), 1.0)


def test_at_the_lowest_score_the_threshold_is_that_score():
    assert find_threshold(SCORES, np.ones((2, 3)), "micro_f1") == (0.1, 1.0)


def test_of_equally_good_thresholds_the_highest_is_taken():
    # Giving the first label alone or all four: hamming loss 1/4 both times.
    scores, actual = np.array([[0.9, 0.7, 0.5, 0.3]]), np.array([[1, 0, 0, 1]])
    assert reached(scores, actual, 0.8, "hamming_loss") == 0.25
    assert find_threshold(scores, actual, "hamming_loss") == (pytest.approx(0.8), 0.25)
    # Subset accuracy 0 everywhere: above all scores.
    assert find_threshold(scores, actual, "subset_accuracy") == (np.nextafter(0.9, 1.0), 0.0)


def test_sparse_labels_with_stored_zeros_are_read_right():
    stored = sparse.csr_matrix(ACTUAL)
    stored.data[2] = 0
    expected = find_threshold(SCORES, stored.toarray(), "micro_f1")
    assert find_threshold(SCORES, stored, "micro_f1") == expected
    assert stored.nnz == 3


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_value_divides_neighbouring_floats(kind):
    low = kind(0.3)
    high = np.nextafter(low, kind(1))
    value, score = find_threshold(np.array([[low, high]]), np.array([[0, 1]]), "micro_f1")
    assert score == 1.0
    assert (np.array([low, high]) >= value).tolist() == [False, True]


def brute_force(scores, actual, metric):
    candidates = [*np.unique(scores), np.inf]
    values = [reached(scores, actual, value, metric) for value in candidates]
    return min(values) if metric == "hamming_loss" else max(values)


@st.composite
def cases(draw):
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    # Few distinct values, so that ties occur.
    scores = draw(arrays.arrays(np.float32, shape, elements=st.sampled_from([-1, 0, 0.1, 0.2, 0.5, 0.7, 1])))
    return scores, draw(arrays.arrays(np.bool_, shape))


@settings(max_examples=100, deadline=None)
@given(cases(), st.sampled_from(METRICS))
def test_nothing_beats_the_threshold_found(case, metric):
    scores, actual = case
    found = find_threshold(scores, actual, metric)
    assert found.score == pytest.approx(brute_force(scores, actual, metric), abs=1e-12)
    assert found.score == pytest.approx(reached(scores, actual, found.value, metric), abs=1e-12)
    given_labels = (scores >= found.value).sum()
    fewer = [value for value in (*np.unique(scores), np.inf) if (scores >= value).sum() < given_labels]
    assert all(is_better(found.score, reached(scores, actual, value, metric), metric) for value in fewer)


@pytest.mark.parametrize("metric", METRICS)
def test_a_large_case_is_near_the_best_of_many_thresholds(metric):
    generator = np.random.default_rng(3)
    actual = generator.random((300, 40)) < 0.08
    scores = (1 / (1 + np.exp(2 - 3 * actual - generator.normal(size=actual.shape)))).astype(np.float32)
    assert actual.sum() > 2 * GRID
    found = find_threshold(scores, sparse.csr_matrix(actual), metric)
    tried = [reached(scores, actual, value, metric) for value in np.linspace(0, 1, 60)]
    shortfall = found.score - min(tried) if metric == "hamming_loss" else max(tried) - found.score
    assert -0.02 < shortfall < (0.002 if metric in ("macro_f1", "example_f1", "subset_accuracy") else 1e-12)
    assert found.score == pytest.approx(reached(scores, actual, found.value, metric), abs=1e-9)


def test_wrong_input_is_refused():
    with pytest.raises(UnknownNameError, match="metric 'micro-f1' is not known, did you mean 'micro_f1'"):
        find_threshold(SCORES, ACTUAL, "micro-f1")
    message = r"scores have the shape \(2, 3\) and labels \(1, 3\); both must be equal, not empty"
    with pytest.raises(InputError, match=message):
        find_threshold(SCORES, ACTUAL[:1], "micro_f1")
    with pytest.raises(InputError, match=r"scores have the shape \(0, 3\) and labels \(0, 3\)"):
        find_threshold(SCORES[:0], ACTUAL[:0], "micro_f1")
    with pytest.raises(InputError, match="a score is inf or nan; it must be a finite number, or -inf where"):
        find_threshold(np.array([[np.nan, 0.1, 0.2]]), ACTUAL[:1], "micro_f1")
    with pytest.raises(InputError, match="a score is inf or nan"):
        find_threshold(np.array([[np.inf, 0.1, 0.2]]), ACTUAL[:1], "micro_f1")


def test_labels_that_nobody_can_give_count_as_missed():
    # One document, four labels that the model knows: the best and the worst scored one are right.
    scores, known = np.array([[0.9, 0.8, 0.7, 0.6]], np.float32), np.array([[1, 0, 0, 1]], bool)
    # One label given: 2 * 1 / (1 + 2); all four: 2 * 2 / (4 + 2), the same, and the higher threshold wins.
    assert find_threshold(scores, known, "micro_f1") == pytest.approx((0.85, 2 / 3))
    # Four more that it does not know: 2 * 1 / (1 + 6) against 2 * 2 / (4 + 6).
    actual = np.hstack([known, np.ones((1, 4), bool)])
    assert find_threshold(scores, actual, "micro_f1") == pytest.approx((0.6, 0.4))
    assert find_threshold(scores, actual, "example_f1") == pytest.approx((0.6, 0.4))
    # One given, which is right, and five missed, of eight; all four given are two wrong and four missed.
    assert find_threshold(scores, actual, "hamming_loss").score == pytest.approx(5 / 8)
    assert find_threshold(scores, actual, "subset_accuracy").score == 0


def test_labels_that_are_never_given_move_the_threshold():
    # One right label at 0.9, then four wrong ones above the other right one at 0.2: giving only the first has
    # 2 / (1 + 2) = 0.67, giving all 4 / (6 + 2) = 0.5; with 8 missed 2 / 11 = 0.18 and 4 / 16 = 0.25.
    scores, right = np.array([[0.9, 0.5, 0.5, 0.5, 0.5, 0.2]]), np.array([[1, 0, 0, 0, 0, 1]])
    assert find_threshold(scores, right, "micro_f1").value > 0.5
    unknown_labels = find_threshold(scores, np.hstack([right, np.ones((1, 8))]), "micro_f1")
    assert unknown_labels.value < 0.5
    assert unknown_labels.score == 0.25
    # The same where they are those of two more documents, of which no label can be given: 3 * 6 columns.
    withheld = np.vstack([scores, np.full((2, 6), -np.inf)])
    more = np.vstack([right, np.tile([1, 1, 1, 1, 0, 0], (2, 1))])
    assert find_threshold(withheld, more, "micro_f1") == unknown_labels
    # Two mistakes at best, the 4 of each other document always: (1 + 8) / 18.
    assert find_threshold(withheld, more, "hamming_loss") == (pytest.approx(0.7), pytest.approx(9 / 18))


@pytest.mark.parametrize("metric", list_tunable())
def test_where_no_label_can_be_given_the_threshold_is_the_highest_probability(metric):
    assert find_threshold(np.full((2, 3), -np.inf, np.float32), ACTUAL, metric).value == 1


def count_per_document(counts):
    return counts.predicted_total / counts.documents


@pytest.mark.parametrize(("better", "value"), [("higher", 0.5), ("lower", 0.9)])
def test_a_metric_of_a_row_is_searched_in_its_own_direction(monkeypatch, better, value):
    row = Metric(
        "labels", "labels per document", f"{__name__}:count_per_document", better=better, tunable=True
    )
    monkeypatch.setitem(catalog.METRICS, "labels", row)
    # Right labels score 0.9, 0.8 and 0.6: the lowest threshold is 0.5, midway to 0.4; the highest gives none.
    found = find_threshold(SCORES, ACTUAL, "labels")
    assert found.value == pytest.approx(value)
    assert found.score == (1.5 if better == "higher" else 0)


@pytest.mark.parametrize("metric", METRICS)
def test_scores_are_sorted_some_at_a_time(metric, monkeypatch):
    generator = np.random.default_rng(5)
    scores = generator.random((40, 6)).astype(np.float32).round(2)
    scores[3] = -np.inf
    right = generator.random(scores.shape) < 0.3
    whole = find_threshold(scores, right, metric)
    monkeypatch.setattr(thresholds, "SCORES_AT_A_TIME", 7)
    assert find_threshold(scores, right, metric) == whole
