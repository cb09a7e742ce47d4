from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn import metrics as sk

from seq2set.config.catalog import is_better
from seq2set.core.errors import InputError
from seq2set.labels.indicator import as_indicator
from seq2set.labels.metrics import Counts, RankingCounts, f1

# Three documents, four labels; the last label is neither given nor right, the last document has none.
PREDICTED = np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
ACTUAL = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


def test_f1_of_numbers():
    assert f1(1, 2, 2) == 0.5
    assert f1(0, 0, 0) == 1.0
    assert f1(0, 3, 0) == f1(0, 0, 3) == 0.0
    assert f1(2.0, 2.0, 3.0) == pytest.approx(0.8)  # 4 / 5


def test_f1_of_arrays_and_tensors_is_the_same():
    both, given_, right = [1, 0, 0, 2], [2, 0, 3, 2], [2, 0, 0, 3]
    expected = [0.5, 1.0, 0.0, 0.8]
    assert f1(np.array(both), np.array(given_), np.array(right)).tolist() == expected
    result = f1(torch.tensor(both), torch.tensor(given_), torch.tensor(right))
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, torch.tensor(expected))


def test_metrics_worked_by_hand():
    # True positives 2 (one of label 0, one of label 1); 3 labels given, 3 right.
    # Label F1: 1, 2/3, 0, 0. Example F1: 2/4, 1, 1. Mistakes: 2 of 12 cells.
    found = Counts.of(PREDICTED, ACTUAL).metrics()
    assert found == pytest.approx(
        {
            "hamming_loss": 2 / 12,
            "micro_precision": 2 / 3,
            "micro_recall": 2 / 3,
            "micro_f1": 2 / 3,
            "macro_precision": (1 + 1 / 2) / 4,
            "macro_recall": (1 + 1) / 4,
            "macro_f1": (1 + 2 / 3) / 4,
            "example_f1": (1 / 2 + 1 + 1) / 3,
            "subset_accuracy": 2 / 3,
        },
        rel=1e-12,
    )


def test_counts_worked_by_hand():
    counts = Counts.of(PREDICTED, ACTUAL)
    assert counts.true_positives.tolist() == [1, 1, 0, 0]
    assert counts.false_positives.tolist() == [0, 1, 0, 0]
    assert counts.false_negatives.tolist() == [0, 0, 1, 0]
    assert (counts.documents, counts.subset_correct) == (3, 2)
    assert (counts.predicted_total, counts.actual_total) == (3, 3)


def test_each_label_worked_by_hand():
    rows = Counts.of(PREDICTED, ACTUAL).per_label(["a", "b", "c", "d"])
    assert rows[1] == ("b", 0.5, 1.0, pytest.approx(2 / 3), 1, 2)
    assert rows[2] == ("c", 0.0, 0.0, 0.0, 1, 0)
    assert rows[3]._asdict() == dict.fromkeys(rows[3]._fields, 0) | {"label": "d"}


def same(one, other):
    assert one.true_positives.tolist() == other.true_positives.tolist()
    assert one.metrics() == pytest.approx(other.metrics(), rel=1e-12)


def test_every_kind_of_matrix_counts_alike():
    expected = Counts.of(PREDICTED, ACTUAL)
    same(Counts.of(sparse.csr_matrix(PREDICTED), sparse.csc_matrix(ACTUAL.astype(bool))), expected)
    same(Counts.of(sparse.coo_array(PREDICTED), ACTUAL.tolist()), expected)
    same(Counts.of(torch.tensor(PREDICTED), ACTUAL.astype(np.float32)), expected)


def test_stored_zeros_and_repeated_entries_do_not_count():
    row, column, value = [0, 0, 0, 0, 1, 2], [0, 0, 1, 3, 1, 2], [1, 1, 1, 0, 1, 0]
    messy = sparse.coo_matrix((value, (row, column)), shape=(3, 4))
    same(Counts.of(messy, ACTUAL), Counts.of(PREDICTED, ACTUAL))


def test_the_matrix_given_is_left_as_it_was():
    stored = sparse.csr_matrix((np.array([1, 0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert as_indicator(stored).nnz == 1
    assert stored.nnz == 2


def test_different_shapes_are_refused():
    with pytest.raises(InputError, match=r"have the shapes \(3, 4\) and \(2, 4\); they must be the same"):
        Counts.of(PREDICTED, ACTUAL[:2])
    with pytest.raises(InputError, match=r"have the shapes \(4,\) and \(3,\); they must be the same"):
        Counts.of(PREDICTED, ACTUAL) + Counts.of(PREDICTED[:, :3], ACTUAL[:, :3])
    with pytest.raises(InputError, match=r"have the shapes \(1,\) and \(4,\); they must be the same"):
        Counts.of(PREDICTED, ACTUAL).per_label(["a"])
    with pytest.raises(InputError, match=r"have the shapes \(3, 2\) and \(3, 4\); they must be the same"):
        RankingCounts.of(np.zeros((3, 2)), ACTUAL)


def test_no_document_cannot_be_measured_but_can_be_added():
    empty = sparse.csr_matrix((0, 4), dtype=np.uint8)
    nothing, no_ranks = Counts.of(empty, empty), RankingCounts.of(np.zeros((0, 4), np.float32), empty)
    same(nothing + Counts.of(PREDICTED, ACTUAL), Counts.of(PREDICTED, ACTUAL))
    for counts in (nothing, no_ranks):
        with pytest.raises(InputError, match="there are 0 documents to measure; at least one is needed"):
            counts.metrics()


SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 7))
PAIRS = SHAPES.flatmap(lambda shape: st.tuples(*[arrays.arrays(np.bool_, shape)] * 2))


@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_metrics_equal_those_of_scikit_learn(pair):
    predicted, actual = (matrix.astype(int) for matrix in pair)
    found = Counts.of(predicted, actual).metrics()
    averages = {"average": "micro", "zero_division": 0}
    wide = actual.shape[1] > 1  # one column would be read as a binary problem
    expected = {
        "hamming_loss": sk.hamming_loss(actual, predicted),
        "subset_accuracy": (actual == predicted).all(axis=1).mean(),
    }
    for average in ("micro", "macro") if wide else ():
        averages["average"] = average
        expected[f"{average}_precision"] = sk.precision_score(actual, predicted, **averages)
        expected[f"{average}_recall"] = sk.recall_score(actual, predicted, **averages)
        expected[f"{average}_f1"] = sk.f1_score(actual, predicted, **averages)
    if wide:
        expected["example_f1"] = sk.f1_score(actual, predicted, average="samples", zero_division=1)
        expected["subset_accuracy"] = sk.accuracy_score(actual, predicted)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(PAIRS.filter(lambda pair: pair[0].shape[1] > 1))
def test_each_label_equals_scikit_learns(pair):
    predicted, actual = (matrix.astype(int) for matrix in pair)
    names = [str(number) for number in range(actual.shape[1])]
    rows = Counts.of(predicted, actual).per_label(names)
    expected = sk.precision_recall_fscore_support(actual, predicted, average=None, zero_division=0)
    found = [[row.precision, row.recall, row.f1, row.support] for row in rows]
    np.testing.assert_allclose(found, np.transpose(expected), atol=1e-12)
    assert [row.predicted for row in rows] == predicted.sum(axis=0).tolist()


@settings(max_examples=30, deadline=None)
@given(PAIRS, st.integers(0, 6), st.integers(0, 6))
def test_parts_add_up_to_the_whole_in_any_grouping(pair, first, second):
    predicted, actual = pair
    low, high = sorted((first, second))
    parts = [slice(0, low), slice(low, high), slice(high, None)]
    a, b, c = (Counts.of(predicted[part], actual[part]) for part in parts)
    same((a + b) + c, Counts.of(predicted, actual))
    same(a + (b + c), Counts.of(predicted, actual))


def test_many_labels_are_counted_sparsely():
    generator = np.random.default_rng(0)
    one, other = (sparse.random(1000, 20_000, 0.001, "csr", rng=generator) for _ in range(2))
    found = Counts.of(one, other).metrics()
    assert found["hamming_loss"] == (one.nnz + other.nnz - 2 * ((one != 0).multiply(other != 0)).nnz) / 2e7


def test_rankings_worked_by_hand():
    # The first document's labels by score are 2, 0, 1, 3; right are 0 and 3, at places 2 and 4.
    # The second document has no label.
    scores = np.array([[0.5, 0.4, 0.9, 0.1], [0.1, 0.2, 0.3, 0.4]])
    found = RankingCounts.of(scores, np.array([[1, 0, 0, 1], [0, 0, 0, 0]])).metrics()
    gain = [1 / math.log2(place + 1) for place in range(1, 5)]
    assert found == pytest.approx(
        {
            "precision_at_1": 0.0,
            "precision_at_3": 1 / 3 / 2,
            "precision_at_5": 2 / 5 / 2,
            "ndcg_at_1": 0.0,
            "ndcg_at_3": gain[1] / (gain[0] + gain[1]) / 2,
            "ndcg_at_5": (gain[1] + gain[3]) / (gain[0] + gain[1]) / 2,
        },
        rel=1e-12,
    )


def test_of_equal_scores_the_more_frequent_label_goes_first():
    assert RankingCounts.of(np.zeros((1, 3)), [[1, 0, 0]]).metrics()["precision_at_1"] == 1.0
    assert RankingCounts.of(np.zeros((1, 3)), [[0, 1, 0]]).metrics()["precision_at_1"] == 0.0


def test_a_label_is_not_picked_twice_among_scores_of_minus_infinity():
    scores = np.array([[-np.inf, 1.0, -np.inf]], dtype=np.float32)
    assert RankingCounts.of(scores, [[1, 1, 1]]).hits.tolist() == [1, 3, 3]


def test_whole_numbers_can_be_scores():
    assert RankingCounts.of(np.array([[3, 9, 4]]), [[0, 1, 0]]).hits.tolist() == [1, 1, 1]


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(InputError, match="a score is nan; scores to rank must be numbers"):
        RankingCounts.of(np.array([[np.nan, 1.0]]), [[0, 1]])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(2, 9), st.integers(0, 2**31), st.integers(0, 6))
def test_rankings_equal_those_of_scikit_learn_and_add_up(documents, labels, seed, cut):
    generator = np.random.default_rng(seed)
    scores = generator.permuted(np.tile(np.arange(labels), (documents, 1)), axis=1) / labels  # no ties
    actual = generator.random((documents, labels)) < 0.4
    found = RankingCounts.of(scores, sparse.csr_matrix(actual)).metrics()
    for rank in (1, 3, 5):
        assert found[f"ndcg_at_{rank}"] == pytest.approx(sk.ndcg_score(actual, scores, k=rank))
        hits = np.take_along_axis(actual, np.argsort(-scores, axis=1)[:, :rank], axis=1).sum()
        assert found[f"precision_at_{rank}"] == pytest.approx(hits / rank / documents)
    parts = RankingCounts.of(scores[:cut], actual[:cut]) + RankingCounts.of(scores[cut:], actual[cut:])
    assert parts.metrics() == pytest.approx(found)


def test_what_is_better():
    assert is_better(0.2, 0.1, "micro_f1")
    assert is_better(0.1, 0.2, "hamming_loss")
    assert not is_better(0.1, 0.1, "micro_f1")
    assert not is_better(0.1, 0.1, "hamming_loss")
