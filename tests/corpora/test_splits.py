from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from seq2set.core.errors import InputError, UnknownNameError
from seq2set.corpora.splits import METHODS, SplitPlan, assign_splits, find_split_index


def split_rows(plan: SplitPlan, labels: Any, **options: Any) -> Any:
    return assign_splits(plan, labels.shape[0], lambda: labels, **options)


def labels_for(documents: int, labels: int = 3) -> Any:
    return csr_matrix(np.random.default_rng(0).random((documents, labels)) < 0.4, dtype=np.int8)


def sizes(parts: Any) -> list[int]:
    return np.bincount(parts, minlength=3).tolist()


@pytest.mark.parametrize("method", ["random", "stratified"])
def test_sizes_are_counts_when_whole_and_shares_when_not(method: Any) -> None:
    # 0.25 of 40 is 10 documents, and the test split asks for 7 of them.
    parts = split_rows(SplitPlan(method, valid=0.25, test=7), labels_for(40))
    assert parts.dtype == np.int8
    assert sizes(parts) == [23, 10, 7]


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_gives_the_same_split_twice_and_another_one_another(method: Any) -> None:
    given_parts, groups = np.repeat([0, 2], 100).astype(np.int8), np.arange(200) // 4

    def parts(seed: int) -> list[int]:
        plan = SplitPlan(method, seed=seed)
        return split_rows(plan, labels_for(200), given=given_parts, groups=groups).tolist()

    assert parts(1) == parts(1)
    assert parts(1) != parts(2)


def test_a_share_gives_at_least_one_document_and_nothing_asked_gives_none() -> None:
    assert sizes(split_rows(SplitPlan("random", 0.1, 0.1), labels_for(3))) == [1, 1, 1]
    assert sizes(split_rows(SplitPlan("random", 0, 0.0), labels_for(3))) == [3, 0, 0]


def test_given_splits_stay_and_validation_is_carved_out_of_train_only() -> None:
    given_parts = np.array([0] * 20 + [2] * 5, dtype=np.int8)
    parts = split_rows(SplitPlan("given", valid=0.25, test=0.5), labels_for(25), given=given_parts)
    assert sizes(parts) == [15, 5, 5]
    assert (parts[20:] == 2).all()
    with_valid = np.array([0, 1, 2, 0], dtype=np.int8)
    assert split_rows(SplitPlan("given", valid=2), labels_for(4), given=with_valid).tolist() == [
        0,
        1,
        2,
        0,
    ]
    assert sizes(split_rows(SplitPlan("given", valid=0), labels_for(25), given=given_parts)) == [20, 0, 5]


@settings(max_examples=60, deadline=None)
@given(groups=st.lists(st.integers(0, 40), min_size=60, max_size=120), seed=st.integers(0, 1000))
def test_groups_stay_together_and_no_part_is_too_large(groups: list[int], seed: int) -> None:
    # Groups of one among them, so that something fits into each part.
    array = np.concatenate([groups, np.arange(100, 140)])
    parts = split_rows(SplitPlan("grouped", 0.2, 0.2, seed), labels_for(len(array)), groups=array)
    assert all(len(set(parts[array == group])) == 1 for group in groups)
    wanted = round(0.2 * len(array))
    assert 0 < sizes(parts)[1] <= wanted
    assert 0 < sizes(parts)[2] <= wanted


def test_groups_of_one_fill_the_parts_exactly() -> None:
    parts = split_rows(SplitPlan("grouped", 0.1, 0.2), labels_for(100), groups=np.arange(100))
    assert sizes(parts) == [70, 10, 20]


@pytest.mark.parametrize("name", ["valid", "val", "Validation", " dev "])
def test_validation_has_several_names(name: str) -> None:
    assert find_split_index(name) == 1


def test_other_split_names() -> None:
    assert [find_split_index(name) for name in ("train", "TEST", "holdout")] == [0, 2, None]


@pytest.mark.parametrize("size", [-1, -0.1, 1.0, 1.5, float("nan"), float("inf"), True, "0.1"])
@pytest.mark.parametrize("option", ["valid", "test"])
def test_impossible_sizes_name_the_option(option: str, size: Any) -> None:
    match = f"^{option} is {size!r}; it must be a number of documents, or a share from 0 to below 1$"
    with pytest.raises(InputError, match=match):
        SplitPlan("random", **{option: size})


def test_shares_that_leave_nothing_are_refused() -> None:
    with pytest.raises(InputError, match=r"valid \+ test is 1.1; the shares must stay below 1"):
        SplitPlan("random", 0.5, 0.6)


@pytest.mark.parametrize("method", ["random", "stratified", "grouped"])
def test_more_than_there_is_is_refused(method: Any) -> None:
    message = "valid = 5 and test = 0.5 want 10 of 10 documents; at least one must be left to train on"
    with pytest.raises(InputError, match=message):
        split_rows(SplitPlan(method, 5, 0.5), labels_for(10), groups=np.arange(10))


def test_validation_larger_than_the_given_train_is_refused() -> None:
    parts = np.array([0, 0, 2, 2, 2], dtype=np.int8)
    with pytest.raises(InputError, match="valid = 2 and test = 0 want 2 of 2 documents"):
        split_rows(SplitPlan("given", valid=2), labels_for(5), given=parts)


def test_test_documents_are_carved_where_none_are_given_and_they_are_asked_for() -> None:
    parts, groups = np.array([0] * 20, dtype=np.int8), np.arange(20) // 2
    plan = SplitPlan("given", valid=0.1, test=0.2)
    asked = split_rows(plan, labels_for(20), given=parts, groups=groups, carve_test=True)
    assert sizes(asked) == [14, 2, 4]
    assert all(len({*asked[groups == group].tolist()}) == 1 for group in range(10))
    assert sizes(split_rows(plan, labels_for(20), given=parts)) == [18, 2, 0]
    # Those that are given stay, and no others join them.
    with_test = np.array([0] * 19 + [2], dtype=np.int8)
    assert sizes(split_rows(plan, labels_for(20), given=with_test, carve_test=True)) == [17, 2, 1]


def test_what_a_method_needs_must_be_there() -> None:
    with pytest.raises(InputError, match="split by 'grouped' needs groups; name the column"):
        split_rows(SplitPlan("grouped"), labels_for(10))
    match = "split as 'given' needs the split of every document"
    with pytest.raises(InputError, match=match):
        split_rows(SplitPlan("given"), labels_for(10))
    with pytest.raises(InputError, match=match):
        split_rows(SplitPlan("given"), labels_for(2), given=np.array([0, -1], dtype=np.int8))


def test_groups_that_are_all_too_large_are_refused() -> None:
    match = r"test wants 2 documents, but no group left is that small \(the smallest has 10\)"
    with pytest.raises(InputError, match=match):
        split_rows(SplitPlan("grouped", 0.1, 0.1), labels_for(20), groups=np.repeat([0, 1], 10))


def test_other_plans_that_make_no_sense_are_refused() -> None:
    with pytest.raises(
        UnknownNameError, match="split method 'grouping' is not known, did you mean 'grouped'"
    ):
        SplitPlan("grouping")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seed is -1; it must be 0 or more"):
        SplitPlan(seed=-1)
