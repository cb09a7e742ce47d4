"""Labels that cannot be learnt or measured well, and tables with one row per document and label."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from seq2set.core.text_utils import count_things
from seq2set.corpora.checks import CheckedDocument, ExampleCounter, Finding, describe_found, format_share
from seq2set.corpora.label_table import LabelTable
from seq2set.corpora.readers.cells.label_cells import EXAMPLES
from seq2set.corpora.readers.cells.separators import guess_separator, quote_separator

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
            yield describe_found(
                "joined-labels",
                f"{_count(len(labels), 'looks', 'look')} like several, joined by {quoted}",
                labels,
                "every combination of labels is then a label of its own, with few examples",
                f"pass the separator of the labels, here probably --separator {quoted}",
            )

    def _find_absent(self, split: str) -> Iterator[Finding]:
        here, train = self._table.frequencies(split), self._table.frequencies("train")
        labels = self._name((here > 0) & (train == 0), here)
        if labels:
            yield describe_found(
                f"{split}-labels-not-in-train",
                f"{_count(len(labels), 'occurs', 'occur')} in {split} but never in train",
                labels,
                "a model never gives a label that it has not seen, so each of its documents is a miss",
                "split again, stratified by label, or drop rare labels when the corpus is prepared",
            )

    def _find_rare(self) -> Iterator[Finding]:
        train = self._table.frequencies("train")
        labels = self._name((train > 0) & (train < self._minimum), -train)
        if labels:
            yield describe_found(
                "rare-labels",
                f"{_count(len(labels), 'has', 'have')} fewer than {self._minimum} documents in train",
                labels,
                "a label with so few examples is hardly ever learnt, and makes macro-F1 a matter of luck",
                "drop them when the corpus is prepared, join them with others, or find more examples",
            )

    def _find_together(self) -> Iterator[Finding]:
        groups = [_join_group(group, " + ") for group in self._group_equal()]
        if groups:
            yield describe_found(
                "labels-always-together",
                f"{count_things(len(groups), 'group')} of labels always occur together",
                groups,
                "they say the same thing twice, so one right or wrong guess counts several times",
                "keep them if they are meant to be given together; otherwise keep one of each group",
                level="note",
            )

    def _find_variants(self) -> Iterator[Finding]:
        groups = [_join_group(sorted(group), " | ") for group in _group_by(self._table.names, _fold)]
        if groups:
            some = count_things(len(groups), "group")
            yield describe_found(
                "label-variants",
                f"{some} of labels differ only by case, white space or Unicode form",
                groups,
                "one label spelt in two ways is two labels to a model, each with a part of the examples",
                "choose one spelling of each and prepare the corpus again",
            )

    def _find_dominant(self) -> Iterator[Finding]:
        total, documents = self._table.frequencies(), sum(self._table.sizes.values())
        labels = self._name(total > MOST_DOCUMENTS * documents, total)
        if labels:
            yield describe_found(
                "dominant-labels",
                f"{_count(len(labels), 'is', 'are')} in most documents, "
                f"'{labels[0]}' in {format_share(int(total.max()), documents)}",
                labels,
                "giving it always looks good in micro-F1 and tells readers nothing",
                "look at macro-F1 and at the figures of each label, or leave the label out",
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


def _join_group(group: list[str], sign: str) -> str:
    left_out = len(group) - EXAMPLES
    return sign.join(group[:EXAMPLES]) + (f"{sign}{left_out:,} more" if left_out > 0 else "")


def _count(count: int, one: str, many: str) -> str:
    return count_things(count, f"label {one}", f"labels {many}")


LEAST_REPEATED = 0.2
"""From this share of rows on that repeat a text with another label, a row stands for one label."""

ROWS_READ = 20_000
"""How many rows are looked at."""

JOIN = (
    "join the rows of a text, for example with pandas: pd.read_csv('rows.csv').groupby('text', sort=False)"
    "['labels'].agg(';'.join).reset_index().to_csv('joined.csv', index=False)"
)


class RowsPerLabel:
    """Finds texts that are repeated with other labels, where no document has two labels."""

    def __init__(self) -> None:
        self._first: dict[bytes, str] = {}
        self._repeated = ExampleCounter()
        self._rows = 0
        self._has_sets = False

    def see(self, row: CheckedDocument) -> None:
        """Take in one document."""
        self.add(row.document.text, row.document.labels, row.document.id)

    def add(self, text: str, labels: Sequence[str], name: str = "") -> bool:
        """Take in the labels of a text; false says that nothing depends on further ones."""
        if self._has_sets or self._rows >= ROWS_READ:
            return False
        self._rows += 1
        self._has_sets = len(labels) > 1
        if len(labels) == 1 and text.strip():
            digest = hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=8).digest()
            if self._first.setdefault(digest, labels[0]) != labels[0]:
                self._repeated.add(name)
        return True

    def findings(self) -> Iterator[Finding]:
        """Yield that rows are labels, if they seem to be."""
        count = self._repeated.count
        if self._has_sets or not count or count < LEAST_REPEATED * self._rows:
            return
        yield self._repeated.make_finding(
            "one-row-per-label",
            "error",
            f"{format_share(count, self._rows)} rows repeat the text of another with another label, and "
            "none has two labels: it looks like one row per label",
            why="a model learns that documents have one label, and copies of texts stand in several splits",
            todo=JOIN,
        )
