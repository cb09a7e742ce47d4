"""Thresholds for metrics of whole documents, improved one label at a time.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2set.config.settings import Metric
from seq2set.metrics import f1
from seq2set.thresholds.cuts import Cuts

ENOUGH = 1e-9
"""What a move must gain: sums of documents' F1 are not exact, and rounding must not go in circles."""


class _Documents:
    """How many labels each document is given, how many of them are right, and how many it should have."""

    def __init__(self, given: NDArray[np.bool_], right: NDArray[np.bool_], metric: Metric):
        self.given, self.right, self.metric = given, right, metric  # (N, L)
        self.sizes, self.actual = given.sum(axis=1), right.sum(axis=1)
        self.hits = (given & right[:, : given.shape[1]]).sum(axis=1)

    def gains(self, label: int) -> NDArray[np.float64]:
        """Return how much better each document is with the label than without it, all else as it is."""
        self._count(label, -1)
        without = self._quality(self.hits, self.sizes)
        gains: NDArray[np.float64] = self._quality(self.hits + self.right[:, label], self.sizes + 1) - without
        self._count(label, 1)
        return gains

    def move(self, label: int, given: NDArray[np.bool_]) -> None:
        """Give the label to other documents than before."""
        self._count(label, -1)
        self.given[:, label] = given
        self._count(label, 1)

    def _count(self, label: int, times: int) -> None:
        self.sizes += times * self.given[:, label]
        self.hits += times * (self.given[:, label] & self.right[:, label])

    def _quality(self, hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.metric == "example_f1":
            return np.asarray(f1(hits, sizes, self.actual), np.float64)
        return np.asarray((hits == sizes) & (hits == self.actual), np.float64)


def climb(
    thresholds: NDArray[Any],
    scores: NDArray[Any],
    right: NDArray[np.bool_],
    metric: Metric,
    cuts: Mapping[int, Cuts],
) -> None:
    """Move the thresholds of the labels that have `cuts` until no move of a single one gains anything."""
    documents = _Documents(scores >= thresholds, right, metric)
    moved = True
    while moved:
        moved = False
        for label, choices in cuts.items():
            gains, column = documents.gains(label), scores[:, label]
            best_first = gains[np.argsort(-column, kind="stable")]
            reached = np.concatenate([[0.0], np.cumsum(best_first)])[choices.given]
            best = int(reached.argmax())
            if reached[best] > gains[documents.given[:, label]].sum() + ENOUGH:
                thresholds[label], moved = choices.values[best], True
                documents.move(label, column >= thresholds[label])
