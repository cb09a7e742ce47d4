"""The thresholds worth trying, each with what it gives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seq2set.errors import InputError


class Cuts(NamedTuple):
    """Thresholds in descending order, each with the labels it gives and those of them that are right."""

    values: NDArray[Any]
    given: NDArray[np.int64]
    right: NDArray[np.int64]


def cuts_of(scores: NDArray[Any], right: NDArray[Any]) -> Cuts:
    """Return the cuts through all `scores`, those at the scores of labels that are `right`."""
    ordered = np.sort(scores[scores > -np.inf])
    if not ordered.size:  # nothing to go by: the highest probability
        ordered = np.ones(1, scores.dtype)
        return Cuts(ordered, np.zeros(1, np.int64), np.zeros(1, np.int64))
    winners, times = np.unique(right[right > -np.inf], return_counts=True)
    below = np.searchsorted(ordered, winners)
    values = np.where(below > 0, _midway(winners, ordered[below - 1]), winners)
    nothing = np.nextafter(ordered[-1:], np.inf, dtype=ordered.dtype)
    return Cuts(
        np.concatenate([nothing, values[::-1]]),
        np.concatenate([[0], (ordered.size - below)[::-1]]),
        np.concatenate([[0], np.cumsum(times[::-1])]),
    )


def _midway(upper: NDArray[Any], lower: NDArray[Any]) -> NDArray[Any]:
    """Stay in the scores' own precision: a value rounded when compared could fall to the lower score."""
    middle = upper / 2 + lower / 2
    return np.where((lower < middle) & (middle <= upper), middle, upper)


def refuse_unfit(scores: NDArray[Any], right: sparse.csr_matrix[Any]) -> None:
    """Refuse scores and labels among which no threshold can be found."""
    if len(scores) != right.shape[0] or scores.shape[1] > right.shape[1] or not scores.size:
        raise InputError(
            f"scores have the shape {scores.shape} and labels {right.shape}; both must be equal, not empty"
        )
    if not (scores < np.inf).all():
        raise InputError("a score is inf or nan; it must be a finite number, or -inf where it is never given")
