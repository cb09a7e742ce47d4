from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from seq2set.models.label_combinations import Combinations, find_combinations


def found(rows: list[set[int]], *, most: int = 100, least: int = 1) -> Combinations:
    dense = np.array([[label in row for label in range(4)] for row in rows])
    return find_combinations(csr_matrix(dense), most=most, least=least)


def kept(combinations: Combinations) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in combinations.holds.toarray()]


def test_each_combination_is_a_class() -> None:
    combinations = found([{0}, {1, 2}, set(), {0}, {1, 2}, {1, 2}])
    assert kept(combinations) == [{1, 2}, {0}, set()]
    assert combinations.classes.tolist() == [1, 0, 2, 1, 0, 0]
    assert combinations.counts() == {"kept": 3, "pruned": 0, "documents_cut": 0, "documents_left_out": 0}


def test_pruned_ones_count_for_their_largest_part() -> None:
    rows = [{0}, {0}, {0}, {1, 2}, {1, 2}, {0, 1, 2}, {0, 3}, {3}, set(), set()]
    combinations = found(rows, least=2)
    assert kept(combinations) == [{0}, set(), {1, 2}]
    # {0, 1, 2} becomes {1, 2}, which is larger than {0}; {0, 3} becomes {0}; {3} has the empty part only.
    assert combinations.classes.tolist() == [0, 0, 0, 2, 2, 2, 0, -1, 1, 1]
    assert combinations.counts() == {"kept": 3, "pruned": 3, "documents_cut": 2, "documents_left_out": 1}


def test_of_equal_parts_the_more_frequent_one() -> None:
    combinations = found([{0}, {1}, {1}, {1}, {0}, {0, 1}], least=2)
    assert kept(combinations) == [{1}, {0}]
    assert combinations.classes.tolist() == [1, 0, 0, 0, 1, 0]


def test_of_equally_frequent_ones_the_smaller_stay() -> None:
    combinations = found([{0, 1, 2}, {2, 3}, {1}, {3}], most=3)
    assert kept(combinations) == [{1}, {3}, {2, 3}]
    assert combinations.classes.tolist() == [0, 2, 0, 1]


def test_nothing_is_frequent_enough() -> None:
    combinations = found([{0}, {1}], least=2)
    assert combinations.counts() == {"kept": 0, "pruned": 2, "documents_cut": 0, "documents_left_out": 2}
    assert combinations.classes.tolist() == [-1, -1]


@given(
    rows=st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=30),
    most=st.integers(1, 8),
    least=st.integers(1, 4),
)
def test_as_worked_out_one_by_one(rows: list[set[int]], most: int, least: int) -> None:
    combinations = found(rows, most=most, least=least)
    classes = kept(combinations)
    assert len(classes) <= most
    cut = left_out = 0
    for row, number in zip(rows, combinations.classes.tolist(), strict=True):
        assert rows.count(row) >= least or row not in classes
        if row in classes:
            assert classes[number] == row
            continue
        parts = [one for one in classes if one and one <= row]
        largest = max(map(len, parts), default=0)
        best = next((classes.index(one) for one in parts if len(one) == largest), -1)
        assert number == best
        cut, left_out = cut + (best >= 0), left_out + (best < 0)
    assert (combinations.cut, combinations.left_out) == (cut, left_out)
    assert combinations.pruned == len({frozenset(row) for row in rows if row not in classes})
