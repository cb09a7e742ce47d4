"""The one threshold for all labels that is best on a validation split.

A label is given when its score is at or above the threshold. Lowering the threshold past a score that is
not right only adds mistakes, in every metric here, so the best threshold lies right below the score of a
label that is right, or above all scores: only those are tried. Of equally good thresholds the highest is
taken, which gives the fewest labels. The value lies midway to the next lower score, at the lowest score
where there is none, and right above the highest where nothing is to be given.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seq2set.config.settings import Metric
from seq2set.errors import InputError, UnknownNameError
from seq2set.metrics import Counts, Indicators, as_indicator

GRID = 200
"""How many thresholds are tried, at most, for a metric that no closed form gives for all of them."""


class Threshold(NamedTuple):
    """The score from which on a label is given, and the metric that it reaches."""

    value: float
    score: float


class _Cuts(NamedTuple):
    """Thresholds in descending order, each with the labels it gives and those of them that are right."""

    values: NDArray[Any]
    given: NDArray[np.int64]
    right: NDArray[np.int64]


def best_threshold(scores: NDArray[Any], actual: Indicators, metric: Metric) -> Threshold:
    """Find the threshold that is best for `metric` on (documents, labels) scores.

    Micro-F1 and hamming loss are searched exactly; the others on at most `GRID` thresholds, spread evenly
    over the scores of the labels that are right, which is exact where there are no more of those.
    """
    if metric not in get_args(Metric):
        raise UnknownNameError("metric", metric, get_args(Metric))
    scores, right = np.asarray(scores), as_indicator(actual)
    _refuse(scores, right)
    cuts = _cuts(scores, right)
    if metric in ("micro_f1", "hamming_loss"):
        return _from_totals(cuts, right.nnz, scores.size, metric)
    return _from_grid(_thinned(cuts.values), scores, right, metric)


def _cuts(scores: NDArray[Any], right: sparse.csr_matrix[Any]) -> _Cuts:
    ordered = np.sort(scores, axis=None)
    rows = np.repeat(np.arange(right.shape[0]), np.diff(right.indptr))
    winners, times = np.unique(scores[rows, right.indices], return_counts=True)
    below = np.searchsorted(ordered, winners)
    values = np.where(below > 0, _midway(winners, ordered[below - 1]), winners)
    nothing = np.nextafter(ordered[-1:], np.inf, dtype=ordered.dtype)
    return _Cuts(
        np.concatenate([nothing, values[::-1]]),
        np.concatenate([[0], (ordered.size - below)[::-1]]),
        np.concatenate([[0], np.cumsum(times[::-1])]),
    )


def _midway(upper: NDArray[Any], lower: NDArray[Any]) -> NDArray[Any]:
    """Stay in the scores' own precision: a value rounded when compared could fall to the lower score."""
    middle = upper / 2 + lower / 2
    return np.where((lower < middle) & (middle <= upper), middle, upper)


def _from_totals(cuts: _Cuts, actual: int, cells: int, metric: Metric) -> Threshold:
    if metric == "micro_f1":
        scores = 2 * cuts.right / np.maximum(cuts.given + actual, 1)
        best = int(scores.argmax())
    else:
        scores = (cuts.given + actual - 2 * cuts.right) / cells
        best = int(scores.argmin())
    return Threshold(float(cuts.values[best]), float(scores[best]))


def _thinned(values: NDArray[Any]) -> NDArray[Any]:
    places = np.linspace(0, len(values) - 1, min(GRID, len(values))).round().astype(np.int64)
    thinned: NDArray[Any] = values[places]
    return thinned


def _from_grid(
    values: NDArray[Any], scores: NDArray[Any], right: sparse.csr_matrix[Any], metric: Metric
) -> Threshold:
    """Measure each threshold from the lowest up, on ever fewer labels; of equals the higher one wins."""
    best = Threshold(float(values[-1]), -1.0)
    rows, columns = np.nonzero(scores >= values[-1])
    above = scores[rows, columns]
    for value in values[::-1]:
        kept = above >= value
        rows, columns, above = rows[kept], columns[kept], above[kept]
        given = sparse.csr_matrix((np.ones(len(above), dtype=bool), (rows, columns)), shape=scores.shape)
        reached = Counts.of(given, right).metrics()[metric]
        if reached >= best.score:
            best = Threshold(float(value), reached)
    return best


def _refuse(scores: NDArray[Any], right: sparse.csr_matrix[Any]) -> None:
    if scores.shape != right.shape or not scores.size:
        raise InputError(
            f"scores have the shape {scores.shape} and labels {right.shape}; both must be equal, not empty"
        )
    if not np.isfinite(scores).all():
        raise InputError("a score is infinite or nan; a threshold can be found among finite scores only")
