from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.experiments.studies.uncorrelated import (
    UncorrelatedTexts,
    choose_uncorrelated,
    find_largest_correlation,
)


def recomputed(label_sets: list[list[str]], labels: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """Pearson's coefficient of the indicator columns, by NumPy; 0 where a column is constant."""
    found = {}
    for one, other in itertools.combinations(labels, 2):
        columns = np.array([[label in row for row in label_sets] for label in (one, other)], float)
        constant = (columns.std(axis=1) == 0).any()
        found[one, other] = 0.0 if constant else float(np.corrcoef(columns)[0, 1])
    return found


LABEL_SETS = st.lists(
    st.lists(st.sampled_from("abcdef"), max_size=3, unique=True).map(list), min_size=4, max_size=25
)


@settings(max_examples=60, deadline=None)
@given(LABEL_SETS, st.sampled_from([0.0, 0.1, 0.28, 0.6, 1.0]))
def test_no_two_correlate_too_much_and_none_could_be_added(sets: list[list[str]], most: float) -> None:
    chosen = choose_uncorrelated(sets, most)
    everything = tuple(sorted({label for row in sets for label in row}))
    phi = recomputed(sets, everything)
    among = [value for pair, value in phi.items() if set(pair) <= set(chosen.labels)]
    assert max(among, default=-1) <= most + 1e-9
    assert chosen.largest == pytest.approx(max(among, default=-1))
    for label in set(everything) - set(chosen.labels):
        with_it = [value for pair, value in phi.items() if label in pair and set(pair) & set(chosen.labels)]
        assert max(with_it) > most - 1e-9
    assert find_largest_correlation(sets) == pytest.approx(max(phi.values(), default=-1))


def test_a_choice_worked_by_hand() -> None:
    # a and b stand together in 2 of 8 documents, b alone in 1, a alone in 2, c alone in 3:
    # phi(a, b) = (8 * 2 - 4 * 3) / sqrt(4 * 4 * 3 * 5) = 4 / sqrt(240) = 0.258; c avoids both.
    sets = [["a", "b"]] * 2 + [["b"]] + [["a"]] * 2 + [["c"]] * 3
    assert find_largest_correlation(sets) == pytest.approx(4 / 240**0.5)
    assert choose_uncorrelated(sets, 0.26) == UncorrelatedTexts(("a", "b", "c"), pytest.approx(4 / 240**0.5))
    # One of a and b has to go. c brings 3 documents and comes first; a brings 2, b brings 1.
    chosen = choose_uncorrelated(sets, 0.25)
    assert chosen.labels == ("a", "c")
    # phi(a, c) = -4 * 3 / sqrt(4 * 4 * 3 * 5)
    assert chosen.largest == pytest.approx(-12 / 240**0.5)


def test_what_brings_documents_comes_before_what_is_frequent() -> None:
    # x stands in 5 of 13 documents, y in 4, but x never alone: y brings 2 documents, x none. With y in the
    # set x stays out, for they go together more often than by chance: 13 * 2 > 5 * 4; z avoids y.
    sets = [["x", "y"]] * 2 + [["x", "z"]] * 3 + [["y"]] * 2 + [["w"]] * 6
    chosen = choose_uncorrelated(sets, 0.0)
    assert sorted(chosen.labels) == ["w", "y", "z"]


def test_of_labels_that_bring_the_same_the_more_frequent_comes_first() -> None:
    # No document has one label only, so that the first label brings none: b is the most frequent.
    sets = [["a", "b"], ["a", "b"], ["b", "c"], ["d", "e"], ["d", "e"]]
    assert "b" in choose_uncorrelated(sets, 0.0).labels


def test_documents_without_labels_do_not_stand_in_the_way() -> None:
    assert choose_uncorrelated([[], ["a"], ["a", "b"], ["a", "b"]], 0.1).labels == ("a",)
    assert choose_uncorrelated([[], []], 0.1) == UncorrelatedTexts((), -1.0)
