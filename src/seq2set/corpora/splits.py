"""Which document goes to training, validation and test.

Four ways, all repeatable through their seed:

- `given`: as the source says. Where it names no validation documents, they are carved out of train
  (see `carve`); test documents are carved only where it names none and they are asked for, for a source with
  a fixed test split is compared on that split.
- `random`: any document anywhere.
- `grouped`: documents of one group stay together; no part gets more documents than asked for.
- `stratified`: each label is shared out as the documents are.

A size is a number of documents when it is whole and a share when it is not; a share above 0 gives at
least one document.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from seq2set.core.errors import InputError, UnknownNameError
from seq2set.core.sparse import as_scipy
from seq2set.corpora.carve import carve, stratify
from seq2set.corpora.documents import SPLITS

Method = Literal["given", "random", "grouped", "stratified"]
METHODS: tuple[str, ...] = get_args(Method)
"""The ways to split a corpus."""

TRAIN, VALID, TEST = range(3)
_ALIASES = {"training": TRAIN, "val": VALID, "validation": VALID, "dev": VALID, "testing": TEST}
_INDICES = {name: index for index, name in enumerate(SPLITS)} | _ALIASES


@dataclass(frozen=True)
class SplitPlan:
    """How a corpus is split; `valid` and `test` are numbers of documents, or shares below 1."""

    method: Method = "random"
    valid: int | float = 0.1
    test: int | float = 0.1
    seed: int = 1

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("split method", self.method, METHODS)
        for name, size in (("valid", self.valid), ("test", self.test)):
            allowed = "it must be a number of documents, or a share from 0 to below 1"
            if isinstance(size, bool) or not isinstance(size, int | float):
                raise InputError(f"{name} is {size!r}; {allowed}")
            if not math.isfinite(size) or size < 0 or (isinstance(size, float) and size >= 1):
                raise InputError(f"{name} is {size}; {allowed}")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}; it must be 0 or more")
        if isinstance(self.valid, float) and isinstance(self.test, float) and self.valid + self.test >= 1:
            raise InputError(f"valid + test is {self.valid + self.test:g}; the shares must stay below 1")


def find_split_index(name: str) -> int | None:
    """Return the index of a split by its name (`valid` may be `val`, `validation` or `dev`), or None."""
    return _INDICES.get(name.strip().lower())


def assign_splits(
    plan: SplitPlan,
    documents: int,
    load_labels: Callable[[], Any],
    *,
    given: NDArray[np.int8] | None = None,
    groups: NDArray[np.int64] | None = None,
    carve_test: bool = False,
) -> NDArray[np.int8]:
    """Return the index in `SPLITS` for each document.

    `load_labels` is called where the split depends on the labels, for documents x labels of ones and zeros.
    `given` holds an index per document, and -1 where the source names none; `groups` a group per document.
    With `carve_test` test documents are taken out of train where the source names none.
    """
    generator = np.random.default_rng(plan.seed)
    if plan.method == "given":
        return _split_as_given(plan, load_labels, given, groups, carve_test=carve_test)
    sizes = _compute_sizes(documents, plan.valid, plan.test)
    if plan.method == "grouped":
        if groups is None:
            raise InputError("split by 'grouped' needs groups; name the column that holds them")
        return _split_by_group(groups, sizes, generator)
    if plan.method == "stratified":
        of_parts = np.array([documents - sum(sizes.values()), sizes[VALID], sizes[TEST]], dtype=np.int64)
        return stratify(as_scipy(load_labels()), of_parts, generator)
    return _split_randomly(documents, sizes, generator)


def _compute_sizes(documents: int, valid: float, test: float) -> dict[int, int]:
    """Return the numbers of documents for test and validation, which are taken in this order."""
    sizes = {TEST: _compute_size(documents, test), VALID: _compute_size(documents, valid)}
    if (wanted := sum(sizes.values())) >= documents:
        raise InputError(
            f"valid = {valid} and test = {test} want {wanted:,} of {documents:,} documents; "
            "at least one must be left to train on"
        )
    return sizes


def _compute_size(documents: int, asked: float) -> int:
    if isinstance(asked, int):
        return asked
    return max(1, round(documents * asked)) if asked > 0 else 0


def _split_randomly(
    documents: int, sizes: dict[int, int], generator: np.random.Generator
) -> NDArray[np.int8]:
    result = np.full(documents, TRAIN, dtype=np.int8)
    order = np.arange(documents, dtype=np.int32)
    generator.shuffle(order)
    result[order[: sizes[TEST]]] = TEST
    result[order[sizes[TEST] : sum(sizes.values())]] = VALID
    return result


def _split_as_given(
    plan: SplitPlan,
    load_labels: Callable[[], Any],
    given: NDArray[np.int8] | None,
    groups: NDArray[np.int64] | None,
    *,
    carve_test: bool,
) -> NDArray[np.int8]:
    if given is None or (given < 0).any():
        raise InputError("split as 'given' needs the split of every document; choose another split method")
    result = given.astype(np.int8)
    shares = {TEST: plan.test if carve_test else 0, VALID: plan.valid}
    shares = {split: 0 if (result == split).any() else share for split, share in shares.items()}
    learnt = int((result == TRAIN).sum())
    if learnt < 2 or not any(shares.values()):
        return result
    for split, size in _compute_sizes(learnt, shares[VALID], shares[TEST]).items():
        if size:
            train = np.flatnonzero(result == TRAIN)
            rows, some = load_labels()[train], None if groups is None else groups[train]
            result[train[carve(as_scipy(rows), size, plan.seed, some)]] = split
    return result


def _split_by_group(
    groups: NDArray[np.int64], sizes: dict[int, int], generator: np.random.Generator
) -> NDArray[np.int8]:
    _, of_document, counts = np.unique(groups, return_inverse=True, return_counts=True)
    part = np.full(len(counts), TRAIN, dtype=np.int8)
    room = dict(sizes)
    for group in generator.permutation(len(counts)):
        for split in room:
            if counts[group] <= room[split]:
                part[group] = split
                room[split] -= int(counts[group])
                break
    for split, size in sizes.items():
        if size and room[split] == size:
            raise InputError(
                f"{SPLITS[split]} wants {size:,} documents, but no group left is that small "
                f"(the smallest has {counts.min():,}); ask for more documents"
            )
    return part[of_document]
