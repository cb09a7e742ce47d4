"""The one threshold for all labels that is best on a validation split."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seq2set.config.settings import Metric
from seq2set.errors import UnknownNameError
from seq2set.metrics import Counts, Indicators, as_indicator
from seq2set.thresholds.cuts import Cuts, cuts_of, refuse_unfit

GRID = 200
"""How many thresholds are tried, at most, for a metric that no closed form gives for all of them."""


class Threshold(NamedTuple):
    """The score from which on a label is given, and the metric that it reaches."""

    value: float
    score: float


def best_threshold(scores: NDArray[Any], actual: Indicators, metric: Metric) -> Threshold:
    """Find the threshold that is best for `metric` on (documents, labels) scores.

    Micro-F1 and hamming loss are searched exactly; the others on at most `GRID` thresholds, spread evenly
    over the scores of the labels that are right, which is exact where there are no more of those.
    """
    if metric not in get_args(Metric):
        raise UnknownNameError("metric", metric, get_args(Metric))
    scores, right = np.asarray(scores), as_indicator(actual)
    refuse_unfit(scores, right)
    rows, columns = right[:, : scores.shape[1]].nonzero()
    cuts = cuts_of(scores, scores[rows, columns])
    if metric in ("micro_f1", "hamming_loss"):
        return _from_totals(cuts, right.nnz, right.shape[0] * right.shape[1], metric)
    return _from_grid(_thinned(cuts.values), scores, right, metric)


def _from_totals(cuts: Cuts, actual: int, cells: int, metric: Metric) -> Threshold:
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
        given = sparse.csr_matrix((np.ones(len(above), dtype=bool), (rows, columns)), shape=right.shape)
        reached = Counts.of(given, right).metrics()[metric]
        if reached >= best.score:
            best = Threshold(float(value), reached)
    return best
