"""One threshold for each label, together the best on a validation split.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.config.settings import Metric
from seq2set.thresholds.climbing import climb
from seq2set.thresholds.cuts import Cuts, cuts_of


class _Settled(NamedTuple):
    """What labels without a choice of their own give, what of it is right, and how many are right in all."""

    given: int
    right: int
    actual: int


def best_thresholds(
    scores: NDArray[Any], right: NDArray[np.bool_], metric: Metric, shared: float, free: NDArray[np.intp]
) -> NDArray[Any]:
    """Find the thresholds of the `free` labels (N, L) that are best for `metric`; the others take `shared`.

    Micro-F1, macro-F1 and hamming loss are the best that any thresholds reach. Example F1 and subset
    accuracy, in which a document's labels depend on each other, are climbed one label at a time from the
    shared threshold until no label's move gains anything: at least as good, but not always the best.
    """
    cuts = [cuts_of(scores[:, label], scores[right[:, label], label]) for label in free]
    thresholds = np.full(scores.shape[1], shared, scores.dtype)
    if metric in ("example_f1", "subset_accuracy"):
        climb(thresholds, scores, right, metric, dict(zip(free.tolist(), cuts, strict=True)))
        return thresholds
    others = np.setdiff1d(np.arange(len(thresholds)), free)
    given = scores[:, others] >= thresholds[others]
    settled = _Settled(int(given.sum()), int((given & right[:, others]).sum()), int(right.sum()))
    places = _places(cuts, metric, settled, right[:, free].sum(axis=0))
    thresholds[free] = [one.values[place] for one, place in zip(cuts, places, strict=True)]
    return thresholds


def _places(cuts: Sequence[Cuts], metric: Metric, settled: _Settled, actual: NDArray[np.int64]) -> list[int]:
    if metric == "macro_f1":
        pairs = zip(cuts, actual, strict=True)
        return [int((2 * one.right / np.maximum(one.given + have, 1)).argmax()) for one, have in pairs]
    if metric == "hamming_loss":
        return _worth(cuts, 1.0)
    return _micro(cuts, settled)


def _worth(cuts: Sequence[Cuts], price: float) -> list[int]:
    """Choose for each label the cut that is worth most: 2 for a right one, less the price of each given."""
    return [int((2 * one.right - price * one.given).argmax()) for one in cuts]


def _micro(cuts: Sequence[Cuts], settled: _Settled) -> list[int]:
    """Maximise micro-F1, a ratio of sums, exactly, by Dinkelbach's method.

    2 TP / (given + actual) exceeds f where 2 TP - f given exceeds f actual. The left side is a sum over
    labels, each of which can be maximised alone; with the ratio that this reaches as the new f, and so on
    until it rises no more, no thresholds reach more.
    """
    reached, places = -1.0, _worth(cuts, 0.0)
    while (risen := _ratio(cuts, places, settled)) > reached:
        reached, places = risen, _worth(cuts, risen)
    return places


def _ratio(cuts: Sequence[Cuts], places: Sequence[int], settled: _Settled) -> float:
    chosen = list(zip(cuts, places, strict=True))
    given = settled.given + sum(int(one.given[place]) for one, place in chosen)
    right = settled.right + sum(int(one.right[place]) for one, place in chosen)
    return 2 * right / max(given + settled.actual, 1)
