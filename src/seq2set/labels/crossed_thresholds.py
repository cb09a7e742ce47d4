"""One threshold per label from training documents that were scored out of fold.

A validation split holds a handful of documents with a rare label, and the training split several times as
many. In each fold a label's threshold is the best for micro-F1 and macro-F1 together (Lin et al., "On the
Thresholding Strategy for Infrequent Labels", 2023); a label that no document of a fold has is given to none
of them. The mean over the folds is drawn towards the one threshold that is best for all labels, the more so
the rarer the label is.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seq2set.labels.thresholds import Cuts, find_cuts, find_threshold

MACRO_SHARE = {"macro_f1": 1.0}
"""How much macro-F1 counts beside micro-F1, which counts 1."""

SOME = 0.25
"""How much it counts for the other metrics; chosen on the validation splits of reuters and medline."""

ROLLBACK = 2
"""With this many training documents, a label's own threshold and the shared one weigh the same."""

ROUNDS = 20
"""Bounds the search for thresholds that depend on each other through micro-F1."""


def find_crossed_thresholds(
    margins: NDArray[np.float32], right: NDArray[np.bool_], fold: NDArray[np.int64], metric: str
) -> NDArray[np.float32]:
    """Return each label's threshold (L,) for margins (N, L) out of fold, of documents in these folds (N,)."""
    shared = find_threshold(margins, right, "micro_f1").value
    share = MACRO_SHARE.get(metric, SOME)
    parts = [_find_balanced(margins[fold == one], right[fold == one], share) for one in np.unique(fold)]
    times = right.sum(axis=0)
    trust = times / (times + ROLLBACK)
    return np.asarray(trust * np.mean(parts, axis=0) + (1 - trust) * shared, np.float32)


def _find_balanced(
    margins: NDArray[np.float32], right: NDArray[np.bool_], share: float
) -> NDArray[np.float32]:
    """Return the thresholds (L,) that are best for micro-F1 plus `share` times macro-F1.

    As in Dinkelbach's method, micro-F1 becomes a sum of gains per label at the ratio that was reached last.
    """
    labels, actual = right.shape[1], right.sum(axis=0)
    cuts = [find_cuts(margins[:, one], margins[right[:, one], one]) for one in range(labels)]
    macro = [
        share / labels * 2 * one.right / (one.given + max(have, 1))
        for one, have in zip(cuts, actual, strict=True)
    ]
    reached, scale = 0.5, 2.0 * max(int(actual.sum()), 1)
    places: list[int] = []
    for _ in range(ROUNDS):
        pairs = zip(cuts, macro, strict=True)
        found = [int((own + (2 * one.right - reached * one.given) / scale).argmax()) for one, own in pairs]
        if found == places:
            break
        places = found
        given, hits = _sum_cuts(cuts, places)
        scale = max(given + int(actual.sum()), 1)
        reached = 2 * hits / scale
    return np.array([one.values[place] for one, place in zip(cuts, places, strict=True)], np.float32)


def _sum_cuts(cuts: Sequence[Cuts], places: Sequence[int]) -> tuple[int, int]:
    chosen = list(zip(cuts, places, strict=True))
    return sum(int(one.given[at]) for one, at in chosen), sum(int(one.right[at]) for one, at in chosen)
