"""Labels that cannot be learnt or measured well."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from seq2set.core.text_utils import count_things
from seq2set.corpora.checks import MOST_EXAMPLES, CheckedDocument, Finding, format_share
from seq2set.corpora.label_table import LabelTable
from seq2set.corpora.readers.separators import guess_separator, quote_separator

_Item = TypeVar("_Item")

MOST_DOCUMENTS = 0.5
"""A label in more than this share of the documents is in most of them."""


class ProblemLabels:
    """Finds labels that are joined, not in train, rare, doubled, spelt in two ways or nearly everywhere."""

    def __init__(self, min_label_documents: int) -> None:
        self._minimum = min_label_documents
        self._table = LabelTable()

    def see(self, row: CheckedDocument) -> None:
        """Take in one document."""
        self._table.add(row.split, row.document.labels)

    def findings(self) -> Iterator[Finding]:
        """Yield the labels that make trouble."""
        yield from self._find_joined()
        yield from self._find_absent("test")
        yield from self._find_absent("valid")
        yield from self._find_rare()
        yield from self._find_together()
        yield from self._find_variants()
        yield from self._find_dominant()

    def _find_joined(self) -> Iterator[Finding]:
        single = int(self._table.cardinalities().max(initial=0)) < 2
        sign = guess_separator([name] for name in self._table.names) if single else None
        if sign is not None:
            total = self._table.frequencies()
            labels = self._name(np.array([sign in name for name in self._table.names]), total)
            quoted = quote_separator(sign)
            yield Finding(
                code="joined-labels",
                level="warning",
                what=f"{_count(len(labels), 'looks', 'look')} like several, joined by {quoted}",
                count=len(labels),
                examples=tuple(labels[:MOST_EXAMPLES]),
                why="every combination of labels is then a label of its own, with few examples",
                todo=f"pass the separator of the labels, here probably --separator {quoted}",
            )

    def _find_absent(self, split: str) -> Iterator[Finding]:
        here, train = self._table.frequencies(split), self._table.frequencies("train")
        labels = self._name((here > 0) & (train == 0), here)
        if labels:
            yield Finding(
                code=f"{split}-labels-not-in-train",
                level="warning",
                what=f"{_count(len(labels), 'occurs', 'occur')} in {split} but never in train",
                count=len(labels),
                examples=tuple(labels[:MOST_EXAMPLES]),
                why="a model never gives a label that it has not seen, so each of its documents is a miss",
                todo="split again, stratified by label, or drop rare labels when the corpus is prepared",
            )

    def _find_rare(self) -> Iterator[Finding]:
        train = self._table.frequencies("train")
        labels = self._name((train > 0) & (train < self._minimum), -train)
        if labels:
            yield Finding(
                code="rare-labels",
                level="warning",
                what=f"{_count(len(labels), 'has', 'have')} fewer than {self._minimum} documents in train",
                count=len(labels),
                examples=tuple(labels[:MOST_EXAMPLES]),
                why="a label with so few examples is hardly ever learnt, and makes macro-F1 a matter of luck",
                todo="drop them when the corpus is prepared, join them with others, or find more examples",
            )

    def _find_together(self) -> Iterator[Finding]:
        groups = self._group_equal()
        if groups:
            yield Finding(
                code="labels-always-together",
                level="note",
                what=f"{_count_groups(len(groups))} of labels always occur together",
                count=len(groups),
                examples=_list_groups(groups, " + "),
                why="they say the same thing twice, so one right or wrong guess counts several times",
                todo="keep them if they are meant to be given together; otherwise keep one of each group",
            )

    def _find_variants(self) -> Iterator[Finding]:
        groups = [sorted(group) for group in _group_by(self._table.names, _fold)]
        if groups:
            yield Finding(
                code="label-variants",
                level="warning",
                what=f"{_count_groups(len(groups))} of labels differ only by case, white space or "
                "Unicode form",
                count=len(groups),
                examples=_list_groups(groups, " | "),
                why="one label spelt in two ways is two labels to a model, each with a part of the examples",
                todo="choose one spelling of each and prepare the corpus again",
            )

    def _find_dominant(self) -> Iterator[Finding]:
        total, documents = self._table.frequencies(), sum(self._table.sizes.values())
        labels = self._name(total > MOST_DOCUMENTS * documents, total)
        if labels:
            yield Finding(
                code="dominant-labels",
                level="warning",
                what=f"{_count(len(labels), 'is', 'are')} in most documents, "
                f"'{labels[0]}' in {format_share(int(total.max()), documents)}",
                count=len(labels),
                examples=tuple(labels[:MOST_EXAMPLES]),
                why="giving it always looks good in micro-F1 and tells readers nothing",
                todo="look at macro-F1 and at the figures of each label, or leave the label out",
            )

    def _name(self, chosen: NDArray[np.bool_], weight: NDArray[np.int64]) -> list[str]:
        """Name the chosen labels, the weightiest first, ties by name."""
        names = self._table.names
        columns = np.flatnonzero(chosen).tolist()
        return [names[i] for i in sorted(columns, key=lambda i: (-weight[i], names[i]))]

    def _group_equal(self) -> list[list[str]]:
        """Group the labels, rare ones left out, whose documents are the same; the most frequent first."""
        columns, names = self._table.matrix().tocsc(), self._table.names
        total = self._table.frequencies()
        common = np.flatnonzero(total >= self._minimum).tolist()
        ends = columns.indptr
        groups = _group_by(common, lambda i: columns.indices[ends[i] : ends[i + 1]].tobytes())
        groups.sort(key=lambda group: (-total[group[0]], min(names[i] for i in group)))
        return [sorted(names[i] for i in group) for group in groups]


def _fold(label: str) -> str:
    return unicodedata.normalize("NFKC", " ".join(unicodedata.normalize("NFKC", label).casefold().split()))


def _group_by(items: Sequence[_Item], key: Callable[[_Item], object]) -> list[list[_Item]]:
    groups: dict[object, list[_Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return [group for group in groups.values() if len(group) > 1]


def _list_groups(groups: list[list[str]], sign: str) -> tuple[str, ...]:
    return tuple(_shorten_group(group, sign) for group in groups[:MOST_EXAMPLES])


def _shorten_group(group: list[str], sign: str) -> str:
    left_out = len(group) - MOST_EXAMPLES
    return sign.join(group[:MOST_EXAMPLES]) + (f"{sign}{left_out:,} more" if left_out > 0 else "")


def _count(count: int, one: str, many: str) -> str:
    return count_things(count, f"label {one}", f"labels {many}")


def _count_groups(count: int) -> str:
    return count_things(count, "group")
