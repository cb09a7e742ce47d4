"""Rewards that do not depend on the order of labels, on all documents at once; eq. 11 is `f1`.

Sets are masks, true where a label is present, and broadcast: samples (B, K, L) go with true sets (B, 1, L).
Every reward but `micro_f1` looks at each document alone and lies between 0 and 1.

Letters: B documents, K samples a document, L labels.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from seq2set import metrics
from seq2set.errors import UnknownNameError

Reward = Callable[[Tensor, Tensor], Tensor]


def f1(predicted: Tensor, actual: Tensor) -> Tensor:
    """Return the F1 of sets (.., L), eq. 11: of two empty sets 1, of an empty and another one 0."""
    return metrics.f1(_size(predicted & actual), _size(predicted), _size(actual))


def jaccard(predicted: Tensor, actual: Tensor) -> Tensor:
    """Return the share of shared labels in all labels of two sets (.., L): of two empty sets 1."""
    common, union = _size(predicted & actual), _size(predicted | actual)
    return (common / union).masked_fill(union == 0, 1.0)


def hamming(predicted: Tensor, actual: Tensor) -> Tensor:
    """Return 1 - hamming loss: the share of labels (.., L) on which two sets agree."""
    return (predicted == actual).float().mean(-1)


def subset_accuracy(predicted: Tensor, actual: Tensor) -> Tensor:
    """Return 1 where two sets (.., L) are equal, else 0."""
    return (predicted == actual).all(-1).float()


def micro_f1(predicted: Tensor, actual: Tensor) -> Tensor:
    """Return what each set (.., L) adds to the micro-F1 f of all the sets here, so that their mean is f.

    f is 2 TP / (P + A), each summed over all sets, so a set raises it exactly if its own 2 TP - f (P + A) is
    positive (Dinkelbach's way to maximise a ratio of sums). A document counts by its labels, as it does in
    micro-F1, while `f1` counts every document the same.
    """
    common, sizes = _size(predicted & actual), _size(predicted) + _size(actual)
    f = metrics.f1(common.sum(), sizes.sum(), common.new_zeros(()))
    return f + (2 * common - f * sizes) / sizes.mean().clamp(min=1e-9)


REWARDS: dict[str, Reward] = {
    "f1": f1,
    "hamming": hamming,
    "jaccard": jaccard,
    "micro_f1": micro_f1,
    "subset_accuracy": subset_accuracy,
}
"""The rewards by the names that settings use."""


def reward_named(name: str) -> Reward:
    """Find a reward, or say which there are."""
    if name not in REWARDS:
        raise UnknownNameError("reward", name, REWARDS)
    return REWARDS[name]


def _size(sets: Tensor) -> Tensor:
    return sets.sum(-1).float()
