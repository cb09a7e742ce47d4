"""One threshold for all labels, or one number of labels per text, that is best on a validation split.

A label is given when its score is at or above its threshold. Lowering a threshold past a score that is
not right only adds mistakes, in every metric here, so the best threshold lies right below the score of a
label that is right, or above all scores: only those are tried. Of equally good thresholds the highest is
taken, which gives the fewest labels. The value lies midway to the next lower score, at the lowest score
where there is none, and right above the highest where nothing is to be given.

What is right may have more columns than there are scores: the last ones are labels that the model does not
know. They cannot be given, and count as missed, as they do wherever a model is measured.

A score of -inf is below every threshold: the labels of a text without a known word have it, as they are
withheld whatever the rule.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seq2set.config.catalog import METRICS, list_tunable
from seq2set.core.errors import InputError
from seq2set.core.names import find_named, load_named
from seq2set.labels.indicator import Indicators, as_indicator
from seq2set.labels.metrics import Counts, CutTotals, f1

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


SCORES_AT_A_TIME = 1 << 20
"""How many scores are sorted at a time."""


class Cuts(NamedTuple):
    """Thresholds in descending order, each with the labels it gives and those of them that are right."""

    values: NDArray[Any]
    given: NDArray[np.int64]
    right: NDArray[np.int64]


def find_cuts(scores: NDArray[Any], right: NDArray[Any]) -> Cuts:
    """Return the cuts through all `scores`, those at the scores of labels that are `right`."""
    winners, times = np.unique(right[right > -np.inf], return_counts=True)
    below, lower = np.zeros(len(winners), np.int64), np.full(len(winners), -np.inf, scores.dtype)
    count, highest = 0, np.full(1, -np.inf, scores.dtype)
    flat = scores.reshape(-1)
    for start in range(0, len(flat), SCORES_AT_A_TIME):
        block = flat[start : start + SCORES_AT_A_TIME]
        ordered = np.sort(block[block > -np.inf])
        if not ordered.size:
            continue
        places = np.searchsorted(ordered, winners)
        lower = np.where(places > 0, np.maximum(lower, ordered[places - 1]), lower)
        below, count, highest = below + places, count + len(ordered), np.maximum(highest, ordered[-1:])
    if not count:  # nothing to go by: the highest probability
        return Cuts(np.ones(1, scores.dtype), np.zeros(1, np.int64), np.zeros(1, np.int64))
    # Stay in the scores' own precision: a value rounded when compared could fall to the lower score.
    middle = winners / 2 + lower / 2
    values = np.where(below > 0, np.where((lower < middle) & (middle <= winners), middle, winners), winners)
    nothing = np.nextafter(highest, np.inf, dtype=scores.dtype)
    return Cuts(
        np.concatenate([nothing, values[::-1]]),
        np.concatenate([[0], (count - below)[::-1]]),
        np.concatenate([[0], np.cumsum(times[::-1])]),
    )


class Sums(NamedTuple):
    """How many labels are given by all, and how many of them are right."""

    given: int
    right: int


def sum_cuts(cuts: Sequence[Cuts], places: Sequence[int]) -> Sums:
    """Return what the cuts at one place for each label give together."""
    chosen = list(zip(cuts, places, strict=True))
    given = sum(int(one.given[at]) for one, at in chosen)
    return Sums(given, sum(int(one.right[at]) for one, at in chosen))


def refuse_unfit(scores: NDArray[Any], right: csr_matrix[Any]) -> None:
    """Refuse scores and labels among which no threshold can be found."""
    if len(scores) != right.shape[0] or scores.shape[1] > right.shape[1] or not scores.size:
        raise InputError(
            f"scores have the shape {scores.shape} and labels {right.shape}; both must be equal, not empty"
        )
    if not (scores < np.inf).all():
        raise InputError("a score is inf or nan; it must be a finite number, or -inf where it is never given")


GRID = 200
"""How many thresholds are tried, at most, for a metric that no closed form gives for all of them."""


class Threshold(NamedTuple):
    """The score from which on a label is given, and the metric that it reaches."""

    value: float
    score: float


def find_threshold(scores: NDArray[Any], actual: Indicators, metric: str) -> Threshold:
    """Find the threshold that is best for `metric` on (documents, labels) scores.

    A metric of sums over all labels is searched exactly; others on at most `GRID` thresholds, spread evenly
    over the scores of the labels that are right, which is exact where there are no more of those.
    """
    row = find_named("metric", metric, list_tunable())
    scores, right = np.asarray(scores), as_indicator(actual)
    refuse_unfit(scores, right)
    rows, columns = right[:, : scores.shape[1]].nonzero()
    cuts = find_cuts(scores, scores[rows, columns])
    if row.of_totals:
        cells = right.shape[0] * right.shape[1]
        values, reached = cuts.values, load_named(row.of)(CutTotals(cuts.right, cuts.given, right.nnz, cells))
    else:
        places = np.linspace(0, len(cuts.values) - 1, min(GRID, len(cuts.values))).round().astype(np.int64)
        values = cuts.values[places]
        reached = _measure(values, scores, right, metric)
    best = find_best_place(reached, metric)
    return Threshold(float(values[best]), float(reached[best]))


def _measure(values: NDArray[Any], scores: NDArray[Any], right: csr_matrix[Any], metric: str) -> list[float]:
    """Measure each threshold, from the lowest up on ever fewer labels."""
    from scipy.sparse import csr_matrix

    reached = []
    rows, columns = np.nonzero(scores >= values[-1])
    above = scores[rows, columns]
    for value in values[::-1]:
        kept = above >= value
        rows, columns, above = rows[kept], columns[kept], above[kept]
        given = csr_matrix((np.ones(len(above), dtype=bool), (rows, columns)), shape=right.shape)
        reached.append(Counts.of(given, right).metrics()[metric])
    return reached[::-1]


def find_best_place(reached: ArrayLike, metric: str) -> int:
    """Return the place of the best of several values of a metric, the first of equals."""
    return int((np.argmin if METRICS[metric].better == "lower" else np.argmax)(reached))


def find_number(scores: NDArray[Any], right: NDArray[np.bool_], metric: str) -> int:
    """Try every number of labels (N, L); of equally good ones the smallest is taken."""
    reached = [counts.metrics()[metric] for counts in _count_by_number(scores, right)]
    return find_best_place(reached, metric) + 1


def _count_by_number(scores: NDArray[Any], right: NDArray[np.bool_]) -> Iterator[Counts]:
    """Count what the best label gives, then the best two, and so on, each from the one before."""
    documents, known = scores.shape
    labels = right.shape[1]
    order = np.argsort(-scores, axis=1, kind="stable")
    can = np.take_along_axis(scores > -np.inf, order, axis=1)  # (N, L) whether the best, second ... is given
    found = can & np.take_along_axis(right[:, :known], order, axis=1)  # and is right
    actual, of_label = right.sum(axis=1), right.sum(axis=0)
    hits, sizes, both, given = (np.zeros(size, np.int64) for size in (documents, documents, labels, labels))
    for label, some, hit in zip(order.T, can.T, found.T, strict=True):
        hits, sizes = hits + hit, sizes + some
        both += np.bincount(label[hit], minlength=labels)
        given += np.bincount(label[some], minlength=labels)
        exact = int(((hits == sizes) & (hits == actual)).sum())
        example_f1 = float(f1(hits, sizes, actual).sum())
        yield Counts(both.copy(), given - both, of_label - both, documents, exact, example_f1)
