from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from seq2set.labels.correlation import Correlations, compute_phi


def correlations(rows):
    indicators = sparse.csr_matrix(np.array(rows, np.int32))
    return Correlations(indicators, [chr(ord("a") + i) for i in range(indicators.shape[1])])


def test_phi_by_hand():
    # n=10, 5 hold the first, 4 the second, 3 both: (10*3 - 5*4) / sqrt(5*5 * 4*6) = 10/sqrt(600).
    together = np.array([[5, 3], [3, 4]])
    assert compute_phi(together, 10)[0, 1] == pytest.approx(10 / 600**0.5, rel=1e-12)


def test_equal_columns_are_exactly_one_and_opposite_columns_minus_one():
    # 2 of 7 documents: sqrt(10) x sqrt(10) is not 10 in floating point.
    found = correlations([[1, 1, 0]] * 2 + [[0, 0, 1]] * 5).find_strongest(3)
    assert [(p.first, p.second, p.phi, p.together) for p in found] == [
        ("a", "b", 1.0, 2),
        ("a", "c", -1.0, 0),
        ("b", "c", -1.0, 0),
    ]


def test_a_label_in_all_documents_correlates_with_nothing():
    assert correlations([[1, 1], [1, 0]]).find_strongest(5) == ()


def test_a_tie_goes_to_the_more_frequent_pair():
    # a = b in one document, c = d in two: both pairs have phi 1.
    rows = [[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    found = correlations(rows).find_strongest(2)
    assert [(p.first, p.second) for p in found] == [("c", "d"), ("a", "b")]


def test_fractions_that_differ_in_the_last_bit_only_are_a_tie():
    # n=10; a 4, b 5, both 3: 10 / sqrt(24 * 25); c 2, d 6, both 2: 8 / sqrt(16 * 24): both 1 / sqrt(6).
    a, b, c, d = "1111000000", "1110110000", "0000001100", "0000111111"
    rows = [list(map(int, row)) for row in zip(a, b, c, d, strict=True)]
    order = [(p.first, p.second) for p in correlations(rows).find_strongest(6)]
    assert order.index(("a", "b")) < order.index(("c", "d"))


@settings(max_examples=60, deadline=None)
@given(arrays(np.int32, st.tuples(st.integers(2, 12), st.integers(2, 5)), elements=st.integers(0, 1)))
def test_phi_is_the_correlation_of_the_columns(rows):
    spread = rows.std(axis=0) > 0
    found = np.array(correlations(rows).map(rows.shape[1]).phi)
    expected = np.zeros_like(found)
    if spread.any():
        expected[np.ix_(spread, spread)] = np.corrcoef(rows[:, spread], rowvar=False)
    assert found == pytest.approx(expected, abs=1e-4)
