"""How good label sets are: counts that add up over batches and processes, and the metrics made of them.

Where a ratio has nothing to divide by, scikit-learn's conventions hold: `zero_division=0` for micro and
macro averages and for each label (a label that is neither given nor right has F1 0), `zero_division=1` for
the F1 of an example (nothing given where nothing is right is perfect). Macro averages run over all columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from seq2set.config.catalog import METRICS
from seq2set.core.errors import InputError
from seq2set.core.names import load_named
from seq2set.core.sparse import SparseRows, find_rows
from seq2set.labels.indicator import Indicators, list_cells

Number = TypeVar("Number")
Added = TypeVar("Added", bound=Any)

RANKS = (1, 3, 5)
"""The depths at which rankings are measured."""

_GAINS = 1.0 / np.log2(np.arange(2, max(RANKS) + 2))


def f1(true_positives: Number, predicted: Number, actual: Number) -> Number:
    """Return the F1 of set sizes: of two empty sets 1, of an empty and a non-empty one 0.

    Takes numbers, NumPy arrays and torch tensors alike: reward and report share it.
    """
    both: Any = true_positives
    total: Any = predicted + actual  # type: ignore[operator]
    empty = total == 0
    result: Number = (2 * both + empty) / (total + empty)
    return result


class LabelMetrics(NamedTuple):
    """The metrics of one label; `support` documents have it, `predicted` were given it."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


@dataclass(frozen=True, eq=False)
class Counts:
    """What all metrics of label sets are made of; arrays have one entry per label."""

    true_positives: NDArray[np.int64]
    false_positives: NDArray[np.int64]
    false_negatives: NDArray[np.int64]
    documents: int
    subset_correct: int
    example_f1_sum: float

    @classmethod
    def of(cls, predicted: Indicators, actual: Indicators) -> Counts:
        """Count on two (documents, labels) matrices, sparse or dense; whatever is not 0 is given."""
        given, right = list_cells(predicted), list_cells(actual)
        _refuse_different(given.shape, right.shape)
        both = np.isin(_code_cells(given), _code_cells(right), assume_unique=True)
        tp = np.bincount(given.indices[both], minlength=given.columns)
        row_both = np.bincount(find_rows(given)[both], minlength=given.shape[0])
        row_given, row_right = np.diff(given.indptr), np.diff(right.indptr)
        return cls(
            true_positives=tp,
            false_positives=np.bincount(given.indices, minlength=given.columns) - tp,
            false_negatives=np.bincount(right.indices, minlength=right.columns) - tp,
            documents=given.shape[0],
            subset_correct=int(((row_both == row_given) & (row_both == row_right)).sum()),
            example_f1_sum=float(f1(row_both, row_given, row_right).sum()),
        )

    @classmethod
    def of_known(cls, predicted: Indicators, actual: Indicators) -> Counts:
        """Count where `actual` has further columns at its end: labels that nobody can give, always missed."""
        given, right = list_cells(predicted), list_cells(actual)
        return cls.of(dataclasses.replace(given, columns=max(given.columns, right.columns)), right)

    def __add__(self, other: Counts) -> Counts:
        _refuse_different(self.true_positives.shape, other.true_positives.shape)
        return add_counts(self, other)

    @property
    def correct_total(self) -> int:
        """How many labels were given and right in all."""
        return int(self.true_positives.sum())

    @property
    def predicted_total(self) -> int:
        """How many labels were given in all."""
        return int((self.true_positives + self.false_positives).sum())

    @property
    def actual_total(self) -> int:
        """How many labels were right in all."""
        return int((self.true_positives + self.false_negatives).sum())

    @property
    def decisions(self) -> int:
        """How many labels could be given in all."""
        return self.documents * len(self.true_positives)

    def metrics(self) -> dict[str, float]:
        """Return every metric of the catalog by name."""
        _refuse_none(self.documents)
        return {name: float(load_named(row.of)(self)) for name, row in METRICS.items()}

    def per_label(self, names: Sequence[str]) -> list[LabelMetrics]:
        """Return the metrics of each label, in the order of `names`."""
        _refuse_different((len(names),), self.true_positives.shape)
        support = self.true_positives + self.false_negatives
        given = self.true_positives + self.false_positives
        columns = [column.tolist() for column in (*self.by_label().values(), support, given)]
        return [LabelMetrics(*row) for row in zip(names, *columns, strict=True)]

    def by_label(self) -> dict[str, NDArray[np.float64]]:
        """Return precision, recall and F1 of each label by their names, (L,) each."""
        tp, fp, fn = self.true_positives, self.false_positives, self.false_negatives
        ratios = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "f1": (2 * tp, 2 * tp + fp + fn)}
        return {name: np.asarray(_divide(*parts), np.float64) for name, parts in ratios.items()}


class CutTotals(NamedTuple):
    """The totals of `Counts` at each of several cuts through the scores (C,)."""

    correct_total: NDArray[np.int64]
    predicted_total: NDArray[np.int64]
    actual_total: int
    decisions: int


@dataclass(frozen=True, eq=False)
class RankingCounts:
    """What ranking metrics are made of; arrays have one entry for each of `RANKS`.

    Precision at k divides by k even where there are fewer labels; a document without labels counts 0 for
    both, as in scikit-learn. Of equal scores the label with the lower number, the more frequent, goes first.
    """

    documents: int
    hits: NDArray[np.int64]
    ndcg_sums: NDArray[np.float64]

    @classmethod
    def of(cls, scores: NDArray[Any], actual: Indicators) -> RankingCounts:
        """Count on a dense (documents, labels) matrix of scores and the labels that are right."""
        right = list_cells(actual)
        _refuse_different(np.shape(scores), right.shape)
        starts = np.arange(right.shape[0])[:, None] * right.columns
        top = starts + _rank_top(np.asarray(scores), max(RANKS))
        found = np.isin(top, _code_cells(right))  # (documents, k)
        gained = np.cumsum(found * _GAINS[: found.shape[1]], axis=1)
        best = np.concatenate([[0.0], np.cumsum(_GAINS)])
        wanted = np.diff(right.indptr)
        hits, ndcg = [], []
        for rank in RANKS:
            last = min(rank, found.shape[1]) - 1
            hits.append(int(found[:, : last + 1].sum()))
            ndcg.append(float(_divide(gained[:, last], best[np.minimum(wanted, last + 1)]).sum()))
        return cls(right.shape[0], np.array(hits, dtype=np.int64), np.array(ndcg))

    def __add__(self, other: RankingCounts) -> RankingCounts:
        return add_counts(self, other)

    def metrics(self) -> dict[str, float]:
        """Turn the counts into metrics by name."""
        _refuse_none(self.documents)
        precision = self.hits / np.array(RANKS) / self.documents
        ndcg = self.ndcg_sums / self.documents
        named = {f"precision_at_{rank}": float(value) for rank, value in zip(RANKS, precision, strict=True)}
        return named | {f"ndcg_at_{rank}": float(value) for rank, value in zip(RANKS, ndcg, strict=True)}


def hamming_loss(counts: Counts) -> float:
    """Return the share of wrong decisions among all labels of all documents."""
    wrong = counts.predicted_total + counts.actual_total - 2 * counts.correct_total
    return _divide(wrong, counts.decisions)


def micro_precision(counts: Counts) -> float:
    """Return the share of given labels that are right."""
    return _divide(counts.correct_total, counts.predicted_total)


def micro_recall(counts: Counts) -> float:
    """Return the share of true labels that are given."""
    return _divide(counts.correct_total, counts.actual_total)


def micro_f1(counts: Counts) -> float:
    """Return the F1 over all decisions."""
    return _divide(2 * counts.correct_total, counts.predicted_total + counts.actual_total)


def macro_precision(counts: Counts) -> float:
    """Return the mean precision of all labels."""
    return float(counts.by_label()["precision"].mean())


def macro_recall(counts: Counts) -> float:
    """Return the mean recall of all labels."""
    return float(counts.by_label()["recall"].mean())


def macro_f1(counts: Counts) -> float:
    """Return the mean F1 of all labels."""
    return float(counts.by_label()["f1"].mean())


def example_f1(counts: Counts) -> float:
    """Return the mean F1 of all documents."""
    return counts.example_f1_sum / counts.documents


def subset_accuracy(counts: Counts) -> float:
    """Return the share of documents with exactly the true set."""
    return counts.subset_correct / counts.documents


def add_counts(one: Added, other: Added) -> Added:
    """Return the sums of two dataclasses of counts, field by field."""
    names = [field.name for field in dataclasses.fields(one)]
    added: Added = type(one)(**{name: getattr(one, name) + getattr(other, name) for name in names})
    return added


def _rank_top(scores: NDArray[Any], depth: int) -> NDArray[np.int64]:
    """Return the columns of the highest scores; the first of equals, which partitioning would not promise."""
    if np.isnan(scores).any():
        raise InputError("a score is nan; scores to rank must be numbers")
    # Lifting -inf to the lowest finite number tells such a label from one that is already picked.
    left = np.nan_to_num(scores.astype(np.result_type(scores, np.float32)))
    rows = np.arange(len(left))
    picked = []
    for _ in range(min(depth, left.shape[1])):
        picked.append(left.argmax(axis=1))
        left[rows, picked[-1]] = -np.inf
    return np.stack(picked, axis=1)


def _code_cells(matrix: SparseRows) -> NDArray[np.int64]:
    """Return each cell's number, were all cells in one line."""
    codes: NDArray[np.int64] = find_rows(matrix) * matrix.columns + matrix.indices
    return codes


def _divide(part: Number, whole: Number) -> Number:
    """Divide numbers, or arrays of them; nothing by nothing is 0."""
    ratio: Number = part / np.maximum(whole, 1)  # type: ignore[call-overload]
    return ratio


def _refuse_different(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    if one != other:
        raise InputError(f"label matrices have the shapes {one} and {other}; they must be the same")


def _refuse_none(documents: int) -> None:
    if not documents:
        raise InputError("there are 0 documents to measure; at least one is needed")
