from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.corpora.carve import carve_documents

LABELS = st.lists(st.sampled_from("abcdefg"), max_size=3, unique=True)
DOCUMENTS = st.lists(st.tuples(LABELS, st.integers(0, 8)), min_size=1, max_size=80)


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS, st.sampled_from([0.05, 0.1, 0.3]), st.integers(0, 99), st.booleans())
def test_no_label_and_no_group_is_torn(
    documents: list[tuple[list[str], int]], share: float, seed: int, by: bool
) -> None:
    label_sets = [labels for labels, _ in documents]
    groups = [f"g{group}" for _, group in documents] if by else None
    aside = carve_documents(label_sets, share, seed, groups)
    # Every document is on exactly one side, and the same one the second time.
    assert aside.shape == (len(documents),)
    assert aside.tolist() == carve_documents(label_sets, share, seed, groups).tolist()
    assert not aside.all()
    stayed = [labels for labels, out in zip(label_sets, aside, strict=True) if not out]
    assert {label for labels in stayed for label in labels} == {
        label for labels in label_sets for label in labels
    }
    wanted = max(1, round(share * len(documents)))
    if groups is None:
        assert aside.sum() <= wanted
        if aside.sum() < min(wanted, len(documents) - 1):
            # Whatever stayed holds a label that nobody else to learn from has.
            left = Counter(label for labels in stayed for label in labels)
            assert all(any(left[label] == 1 for label in labels) for labels in stayed)
    else:
        sides = {(group, bool(out)) for group, out in zip(groups, aside, strict=True)}
        assert len(sides) == len(set(groups))
        # More than asked for only where no group is small enough.
        assert aside.sum() <= wanted or len({g for g, out in zip(groups, aside, strict=True) if out}) == 1


@settings(max_examples=40, deadline=None)
@given(DOCUMENTS, st.integers(0, 99), st.booleans(), st.randoms(use_true_random=False))
def test_it_does_not_matter_how_labels_and_groups_are_named(
    documents: list[tuple[list[str], int]], seed: int, by: bool, random: Random
) -> None:
    label_sets = [labels for labels, _ in documents]
    groups = [f"g{group}" for _, group in documents] if by else None
    names = dict(zip("abcdefg", random.sample("zyxwvuts", 7), strict=True))
    renamed = [random.sample([names[label] for label in labels], len(labels)) for labels in label_sets]
    others = groups and [f"{9 - int(group[1])}" for group in groups]
    first, second = (
        carve_documents(label_sets, 0.2, seed, groups),
        carve_documents(renamed, 0.2, seed, others),
    )
    assert first.tolist() == second.tolist()


def test_labels_are_shared_out_as_documents_are() -> None:
    # 200 documents: half have "common", 40 have "rare"; a tenth of each is 10 and 4.
    label_sets = [["common"] * (n % 2) + ["rare"] * (n % 5 == 0) for n in range(200)]
    aside = carve_documents(label_sets, 0.1, 1)
    counts = Counter(label for n in np.flatnonzero(aside) for label in label_sets[n])
    assert (aside.sum(), counts["common"], counts["rare"]) == (20, 10, 4)


def test_groups_are_carved_whole_and_label_by_label() -> None:
    # 50 groups of four; the label "rare" is in ten groups, twice in each: a tenth of 20 is one group's two.
    label_sets = [["common"] + ["rare"] * (n // 4 % 5 == 0 and n % 2) for n in range(200)]
    groups = [f"g{n // 4}" for n in range(200)]
    aside = carve_documents(label_sets, 0.1, 1, groups)
    assert aside.sum() == 20
    assert {len(set(aside[n : n + 4])) for n in range(0, 200, 4)} == {1}
    assert sum("rare" in label_sets[n] for n in np.flatnonzero(aside)) == 2


@pytest.mark.parametrize("label_sets", [[["a"]], [["a"], ["b"], ["c"]]])
def test_nothing_is_set_aside_where_a_label_would_be_lost(label_sets: list[list[str]]) -> None:
    assert not carve_documents(label_sets, 0.1, 1).any()


def test_one_group_cannot_be_carved() -> None:
    assert not carve_documents([["a"]] * 10, 0.1, 1, ["g"] * 10).any()


def test_groups_larger_than_asked_for_give_their_smallest() -> None:
    # A tenth of 20 is 2; the groups have 12 and 8.
    groups = ["large"] * 12 + ["small"] * 8
    assert carve_documents([["a"]] * 20, 0.1, 1, groups).tolist() == [False] * 12 + [True] * 8
