"""One threshold per label, together the best on a validation split.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.config.catalog import METRICS
from seq2set.core.names import load_named
from seq2set.labels.metrics import f1
from seq2set.labels.thresholds import Cuts, find_cuts, sum_cuts

Bools = NDArray[np.bool_]

ENOUGH = 1e-9
"""What a move must gain: sums of documents' F1 are not exact, and rounding must not go in circles."""


class LabelChoice(NamedTuple):
    """What thresholds per label are chosen from."""

    scores: NDArray[Any]  # (N, L)
    right: Bools  # (N, L + U)
    shared: NDArray[Any]
    """The threshold that is best for all labels together, once per label (L,)"""
    cuts: Mapping[int, Cuts]
    """Of the labels that may have one of their own; the others take what is shared"""

    def take(self, places: Iterable[int]) -> NDArray[Any]:
        """Return the thresholds (L,) of one cut for each label that has some."""
        thresholds: NDArray[Any] = self.shared.copy()
        for (label, cuts), place in zip(self.cuts.items(), places, strict=True):
            thresholds[label] = cuts.values[place]
        return thresholds


def find_label_thresholds(
    scores: NDArray[Any], right: Bools, metric: str, shared: float, free: NDArray[np.intp]
) -> NDArray[Any]:
    """Find the thresholds of the `free` labels that are best for `metric`; the others take `shared`."""
    cuts = {label: find_cuts(scores[:, label], scores[right[:, label], label]) for label in free.tolist()}
    choice = LabelChoice(scores, right, np.full(scores.shape[1], shared, scores.dtype), cuts)
    thresholds: NDArray[Any] = load_named(METRICS[metric].label_thresholds)(choice)
    return thresholds


def minimise_hamming_loss(choice: LabelChoice) -> NDArray[Any]:
    """Return the thresholds of the lowest hamming loss."""
    return choice.take(_choose_worthiest(list(choice.cuts.values()), 1.0))


def maximise_macro_f1(choice: LabelChoice) -> NDArray[Any]:
    """Return the thresholds of the highest macro-F1."""
    have = choice.right.sum(axis=0)
    return choice.take(
        int((2 * one.right / np.maximum(one.given + have[label], 1)).argmax())
        for label, one in choice.cuts.items()
    )


def maximise_micro_f1(choice: LabelChoice) -> NDArray[Any]:
    """Return the thresholds of the highest micro-F1, a ratio of sums, exactly, by Dinkelbach's method.

    2 TP / (given + actual) exceeds f where 2 TP - f given exceeds f actual. The left side is a sum over
    labels, each of which can be maximised alone; with the ratio that this reaches as the new f, and so on
    until it rises no more, no thresholds reach more.
    """
    others = np.setdiff1d(np.arange(len(choice.shared)), list(choice.cuts))
    given = choice.scores[:, others] >= choice.shared[others]
    hits, rest = int((given & choice.right[:, others]).sum()), int(given.sum()) + int(choice.right.sum())
    cuts = list(choice.cuts.values())
    reached, places = -1.0, _choose_worthiest(cuts, 0.0)
    while True:
        sums = sum_cuts(cuts, places)
        risen = 2 * (hits + sums.right) / max(sums.given + rest, 1)
        if risen <= reached:
            return choice.take(places)
        reached, places = risen, _choose_worthiest(cuts, risen)


def _choose_worthiest(cuts: Sequence[Cuts], price: float) -> list[int]:
    """Choose for each label the cut that is worth most: 2 for a right one, less the price of each given."""
    return [int((2 * one.right - price * one.given).argmax()) for one in cuts]


def climb(choice: LabelChoice, quality: Callable[..., NDArray[Any]]) -> NDArray[Any]:
    """Move thresholds, one label at a time, from the shared one until no single move gains anything.

    The quality of documents (N,) is that of how many labels are right, are given and should be. As a
    document's labels depend on each other, the best is not always reached, as the other functions here do.
    """
    thresholds: NDArray[Any] = choice.shared.copy()
    given, actual = choice.scores >= thresholds, choice.right.sum(axis=1)
    hits, sizes = (given & choice.right[:, : len(thresholds)]).sum(axis=1), given.sum(axis=1)  # (N,)
    moved = True
    while moved:
        moved = False
        for label, choices in choice.cuts.items():
            column, right = choice.scores[:, label], choice.right[:, label]
            hits, sizes = hits - (given[:, label] & right), sizes - given[:, label]
            # How much better each document is with the label than without it, all else as it is.
            gains = 1.0 * quality(hits + right, sizes + 1, actual) - quality(hits, sizes, actual)
            best_first = gains[np.argsort(-column, kind="stable")]
            reached = np.concatenate([[0.0], np.cumsum(best_first)])[choices.given]
            best = int(reached.argmax())
            if reached[best] > gains[given[:, label]].sum() + ENOUGH:
                thresholds[label], moved = choices.values[best], True
                given[:, label] = column >= thresholds[label]
            hits, sizes = hits + (given[:, label] & right), sizes + given[:, label]
    return thresholds


climb_example_f1 = partial(climb, quality=f1)
climb_subset_accuracy = partial(climb, quality=lambda hits, given, actual: (hits == given) & (hits == actual))
