from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from seq2set.corpora.carve import stratify
from seq2set.corpora.splits import SplitPlan, assign_splits


def long_tailed(documents: int, labels: int) -> Any:
    chances = 0.3 / np.arange(1, labels + 1) ** 1.1
    return csr_matrix(np.random.default_rng(5).random((documents, labels)) < chances, dtype=np.int8)


def mean_deviation(matrix: Any, parts: Any, share: float) -> float:
    """The mean over labels of how far the label's share in a part is from the part's share of documents."""
    totals = np.asarray(matrix.sum(axis=0)).ravel()
    shares = [np.asarray(matrix[parts == part].sum(axis=0)).ravel() / totals for part in (1, 2)]
    return float(np.mean(np.abs(np.concatenate(shares) - share)))


def test_labels_are_shared_out_far_better_than_at_random() -> None:
    matrix = long_tailed(50_000, 200)
    stratified = assign_splits(SplitPlan("stratified", 0.1, 0.1), 50_000, lambda: matrix)
    random = assign_splits(SplitPlan("random", 0.1, 0.1), 50_000, lambda: matrix)
    assert mean_deviation(matrix, stratified, 0.1) < 0.2 * mean_deviation(matrix, random, 0.1)
    assert np.bincount(stratified).tolist() == [40_000, 5_000, 5_000]


def test_one_label_a_document_is_shared_out_exactly() -> None:
    # 60 documents of one label and 20 of another; a quarter each to valid and test: 15 and 5.
    matrix = csr_matrix(np.eye(2, dtype=np.int8)[[0] * 60 + [1] * 20])
    parts = stratify(matrix, np.array([40, 20, 20]), np.random.default_rng(1))
    assert np.bincount(parts[:60]).tolist() == [30, 15, 15]
    assert np.bincount(parts[60:]).tolist() == [10, 5, 5]


def test_the_rarest_label_is_dealt_first() -> None:
    # Label 1 stands on the last four documents only, of which half must go to the second part.
    dense = np.ones((40, 2), dtype=np.int8)
    dense[:36, 1] = 0
    for seed in range(5):
        parts = stratify(csr_matrix(dense), np.array([20, 20]), np.random.default_rng(seed))
        assert np.bincount(parts[36:]).tolist() == [2, 2]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.sets(st.integers(0, 6)), min_size=5, max_size=40),
    valid=st.integers(0, 2),
    test=st.integers(0, 2),
    seed=st.integers(0, 99),
)
def test_sizes_are_exact_whatever_the_labels(rows: list[set[int]], valid: int, test: int, seed: int) -> None:
    dense = np.array([[label in row for label in range(7)] for row in rows], dtype=np.int8)
    sizes = np.array([len(rows) - valid - test, valid, test])
    parts = stratify(csr_matrix(dense), sizes, np.random.default_rng(seed))
    assert np.bincount(parts, minlength=3).tolist() == sizes.tolist()
