"""One threshold per label, together the best on a validation split.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2set.labels.metrics import f1
from seq2set.labels.thresholds import Cuts, find_cuts, sum_cuts

Bools = NDArray[np.bool_]

SUPPORTED = ("hamming_loss", "micro_f1", "macro_f1", "example_f1", "subset_accuracy")
"""The metrics that thresholds per label can be tuned for; each needs an algorithm of its own."""

ENOUGH = 1e-9
"""What a move must gain: sums of documents' F1 are not exact, and rounding must not go in circles."""


class _DecidedDocuments:
    """How many labels each document is given, how many of them are right, and how many it should have."""

    def __init__(self, given: Bools, right: Bools, metric: str):
        self.given, self.right, self.metric = given, right, metric  # (N, L)
        self.sizes, self.actual = given.sum(axis=1), right.sum(axis=1)
        self.hits = (given & right[:, : given.shape[1]]).sum(axis=1)

    def gains(self, label: int) -> NDArray[np.float64]:
        """Return how much better each document is with the label than without it, all else as it is."""
        self._count(label, -1)
        without = self._compute_quality(self.hits, self.sizes)
        with_it = self._compute_quality(self.hits + self.right[:, label], self.sizes + 1)
        self._count(label, 1)
        return with_it - without

    def move(self, label: int, given: Bools) -> None:
        """Give the label to other documents than before."""
        self._count(label, -1)
        self.given[:, label] = given
        self._count(label, 1)

    def _count(self, label: int, times: int) -> None:
        self.sizes += times * self.given[:, label]
        self.hits += times * (self.given[:, label] & self.right[:, label])

    def _compute_quality(self, hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.metric == "example_f1":
            return np.asarray(f1(hits, sizes, self.actual), np.float64)
        return np.asarray((hits == sizes) & (hits == self.actual), np.float64)


def climb(
    thresholds: NDArray[Any], scores: NDArray[Any], right: Bools, metric: str, cuts: Mapping[int, Cuts]
) -> None:
    """Move the thresholds of the labels that have `cuts` until no move of a single one gains anything."""
    documents = _DecidedDocuments(scores >= thresholds, right, metric)
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


def find_label_thresholds(
    scores: NDArray[Any], right: Bools, metric: str, shared: float, free: NDArray[np.intp]
) -> NDArray[Any]:
    """Find the thresholds of the `free` labels (N, L) that are best for `metric`; the others take `shared`.

    Micro-F1, macro-F1 and hamming loss are the best that any thresholds reach. Example F1 and subset
    accuracy, in which a document's labels depend on each other, are climbed one label at a time from the
    shared threshold until no label's move gains anything: at least as good, but not always the best.
    """
    cuts = [find_cuts(scores[:, label], scores[right[:, label], label]) for label in free]
    thresholds = np.full(scores.shape[1], shared, scores.dtype)
    if metric in ("example_f1", "subset_accuracy"):
        climb(thresholds, scores, right, metric, dict(zip(free.tolist(), cuts, strict=True)))
        return thresholds
    if metric == "macro_f1":
        pairs = zip(cuts, right[:, free].sum(axis=0), strict=True)
        places = [int((2 * one.right / np.maximum(one.given + have, 1)).argmax()) for one, have in pairs]
    elif metric == "hamming_loss":
        places = _choose_worthiest(cuts, 1.0)
    else:
        others = np.setdiff1d(np.arange(len(thresholds)), free)
        given = scores[:, others] >= thresholds[others]
        hits = int((given & right[:, others]).sum())
        places = _maximise_micro_f1(cuts, hits, int(given.sum()) + int(right.sum()))
    thresholds[free] = [one.values[place] for one, place in zip(cuts, places, strict=True)]
    return thresholds


def _choose_worthiest(cuts: Sequence[Cuts], price: float) -> list[int]:
    """Choose for each label the cut that is worth most: 2 for a right one, less the price of each given."""
    return [int((2 * one.right - price * one.given).argmax()) for one in cuts]


def _maximise_micro_f1(cuts: Sequence[Cuts], hits: int, rest: int) -> list[int]:
    """Maximise micro-F1, a ratio of sums, exactly, by Dinkelbach's method.

    The labels without a choice have `hits`; `rest` is what they give and what is right of all labels.
    2 TP / (given + actual) exceeds f where 2 TP - f given exceeds f actual. The left side is a sum over
    labels, each of which can be maximised alone; with the ratio that this reaches as the new f, and so on
    until it rises no more, no thresholds reach more.
    """
    reached, places = -1.0, _choose_worthiest(cuts, 0.0)
    while True:
        sums = sum_cuts(cuts, places)
        risen = 2 * (hits + sums.right) / max(sums.given + rest, 1)
        if risen <= reached:
            return places
        reached, places = risen, _choose_worthiest(cuts, risen)
