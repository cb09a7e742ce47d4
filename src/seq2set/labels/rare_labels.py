"""Thresholds that serve rare labels too.

The margins of rare labels are low, so that one threshold for all labels, tuned for micro-F1, gives rare ones
to hardly any document; and a threshold of its own is made by chance where it is tuned on a handful. Two
remedies, which go together:

- `find_frequency_thresholds`: two numbers for all labels, by which a threshold falls with a label's rarity.
- `find_crossed_thresholds`: each label's own from training documents that were scored out of fold. In each
  fold it is the best for micro-F1 and macro-F1 together (Lin et al., "On the Thresholding Strategy for
  Infrequent Labels", 2023); a label that no document of a fold has is given to none of them. The mean over
  the folds is drawn towards the threshold of the label's frequency, the more so the rarer it is. SCutFBR
  (Yang, 2001; Fan and Lin, 2007) looks at each label's F1 alone, and falls back at once where it is too low.

Shapes: N documents, L labels, U labels without margins, C cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.config.catalog import METRICS
from seq2set.labels.thresholds import find_cuts, sum_cuts

SOME = 0.25
"""How much macro-F1 counts beside micro-F1, which counts 1 (as macro-F1 does for a metric that is a mean over
labels); chosen on the validation splits of reuters and medline."""

ROLLBACK = 20
"""With this many training documents, a label's own threshold and that of its frequency weigh the same; chosen
out of fold on the training documents of reuters and medline."""

ROUNDS = 20
"""Bounds the search for thresholds that depend on each other through micro-F1."""

SLOPES = np.linspace(0, 0.6, 21)
"""The slopes tried, in standard deviations of the margins of labels that are right; 0 is one threshold."""

CUTS = 100
"""How many offsets are tried for each slope, spread evenly over the margins of labels that are right."""


class _Tried(NamedTuple):
    """What the offsets of one slope reach, (C,)."""

    offsets: NDArray[Any]
    micro_f1: NDArray[np.float64]
    macro_f1: NDArray[np.float64]


def find_frequency_thresholds(
    margins: NDArray[np.float32], right: NDArray[np.bool_], frequencies: Sequence[int], metric: str
) -> NDArray[np.float32]:
    """Return each label's threshold (L,) for margins (N, L), by how many training documents have it.

    It is `offset + slope * log(its frequency / the highest one)`. Of all pairs whose micro-F1 is not below
    that of the best single threshold, the pair of the highest macro-F1 is taken; for a metric that is a
    mean over labels, of all pairs. A margin of -inf is below every threshold. What is right (N, L + U) may
    have columns more.
    """
    counts = np.maximum(np.asarray(frequencies, np.float64), 1)
    rarity = np.log(counts / counts.max())  # (L,) 0 for the most frequent label
    winners = margins[right[:, : margins.shape[1]] & (margins > -np.inf)]
    if not len(winners):
        return np.full(margins.shape[1], np.inf, np.float32)  # nothing to go by: no label at all
    shifts = np.outer(SLOPES * winners.std(), rarity).astype(np.float32)
    tried = [_try_slope(margins, right, shift) for shift in shifts]
    least = 0.0 if METRICS[metric].is_macro else tried[0].micro_f1.max()
    worth = [np.where(one.micro_f1 >= least, one.macro_f1, -1.0) for one in tried]
    best = int(np.argmax([one.max() for one in worth]))
    offset, level = tried[best].offsets[worth[best].argmax()], margins - shifts[best]
    below = level[(level < offset) & (level > -np.inf)]
    midway = (offset + below.max()) / 2 if below.size else offset
    return np.asarray(midway + shifts[best], np.float32)


def _try_slope(margins: NDArray[np.float32], right: NDArray[np.bool_], shift: NDArray[np.float32]) -> _Tried:
    labels, level = margins.shape[1], margins - shift
    hit = right[:, :labels]
    winners = level[hit & (level > -np.inf)]
    offsets = np.unique(np.quantile(winners, np.linspace(0, 1, CUTS), method="nearest"))  # (C,) ascending
    rows, columns = np.nonzero(level >= offsets[0])
    reached = np.searchsorted(offsets, level[rows, columns], side="right") - 1  # the highest offset reached
    cells, size = reached * labels + columns, len(offsets) * labels
    given = _sum_from_above(np.bincount(cells, minlength=size), labels)
    both = _sum_from_above(np.bincount(cells[hit[rows, columns]], minlength=size), labels)
    actual = right.sum(axis=0)
    micro = 2 * both.sum(axis=1) / (given.sum(axis=1) + actual.sum())
    macro = (2 * both / np.maximum(given + actual[:labels], 1)).sum(axis=1) / len(actual)
    return _Tried(offsets, micro, macro)


def _sum_from_above(counts: NDArray[np.int64], labels: int) -> NDArray[np.int64]:
    """Return what is given from each offset on, (C, L), of what has it for the highest offset it reaches."""
    return np.asarray(counts.reshape(-1, labels)[::-1].cumsum(axis=0)[::-1])


def find_crossed_thresholds(
    margins: NDArray[np.float32], right: NDArray[np.bool_], fold: NDArray[np.int64], metric: str
) -> NDArray[np.float32]:
    """Return each label's threshold (L,) for margins (N, L) out of fold, of documents in these folds (N,)."""
    shared = find_frequency_thresholds(margins, right, right.sum(axis=0).tolist(), metric)
    share = 1.0 if METRICS[metric].is_macro else SOME
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
        sums = sum_cuts(cuts, places)
        scale = max(sums.given + int(actual.sum()), 1)
        reached = 2 * sums.right / scale
    return np.array([one.values[place] for one, place in zip(cuts, places, strict=True)], np.float32)
