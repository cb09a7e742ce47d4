"""How many of the best labels to give each text, whatever their scores.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2set.config.settings import Metric
from seq2set.metrics import Counts, f1, is_better


def best_number(scores: NDArray[Any], right: NDArray[np.bool_], metric: Metric) -> int:
    """Try every number of labels (N, L); of equally good ones the smallest is taken."""
    reached = [counts.metrics()[metric] for counts in _by_number(scores, right)]
    best = 0
    for place, value in enumerate(reached):
        if is_better(value, reached[best], metric):
            best = place
    return best + 1


def _by_number(scores: NDArray[Any], right: NDArray[np.bool_]) -> Iterator[Counts]:
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
