"""Rewards that do not depend on the order of labels, on all documents at once; eq. 11 is `f1`.

Sets are masks, true where a label is present, and broadcast: samples (B, K, L) go with true sets (B, 1, L).
Every reward but `micro_f1` looks at each document alone and lies between 0 and 1; `micro_f1` also knows how
well the run has done so far, never how well the other documents of a batch do, so that it is the same however
a batch is divided.

Letters: B documents, K samples per document, L labels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from seq2set.config.catalog import REWARDS
from seq2set.core.names import find_named, load_named
from seq2set.labels import metrics

Reward = Callable[[Tensor, Tensor], Tensor]

FADING = 0.98
"""What is left of the sums of a run after each update: those of the last fifty or so count."""


class RunningF1(NamedTuple):
    """The micro-F1 of the sets that a run has sampled so far, as the sums that it is made of.

    Before any set there is one of one label, half of it right, which the first batch outweighs.
    """

    right: float = 0.5
    given: float = 1.0
    actual: float = 1.0
    sets: float = 1.0

    @property
    def f1(self) -> float:
        """The micro-F1 itself."""
        return 2 * self.right / max(self.given + self.actual, 1e-9)

    @property
    def size(self) -> float:
        """The labels, given and actual, per set."""
        return max(self.given + self.actual, 1e-9) / self.sets

    def after(self, sums: Tensor) -> RunningF1:
        """Count the sums of an update (see `sum_sets`); what was before fades."""
        return RunningF1(*(FADING * old + new for old, new in zip(self, sums.tolist(), strict=True)))


def sum_sets(predicted: Tensor, actual: Tensor) -> Tensor:
    """Return the sums (4,) that sets (.., L) add to a `RunningF1`: exact, and so the same in any order."""
    common = predicted & actual
    counts = (common.sum(), predicted.expand_as(common).sum(), actual.expand_as(common).sum())
    sets = counts[0].new_tensor(common.shape[:-1].numel())
    return torch.stack([*counts, sets]).double()


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


def micro_f1(predicted: Tensor, actual: Tensor, so_far: RunningF1 = RunningF1()) -> Tensor:  # noqa: B008
    """Return what each set (.., L) adds to the micro-F1 f of the run so far.

    f is 2 TP / (P + A), each summed over all sets, so a set raises it exactly if its own 2 TP - f (P + A) is
    positive (Dinkelbach's way to maximise a ratio of sums). A document counts by its labels, as it does in
    micro-F1, while `f1` counts every document the same. The mean over the sets that f was counted on is f.
    """
    common, sizes = _size(predicted & actual), _size(predicted) + _size(actual)
    return so_far.f1 + (2 * common - so_far.f1 * sizes) / so_far.size


def get_reward(name: str, so_far: RunningF1 | None = None) -> Reward:
    """Find a reward, or say which there are; the one that needs it is told how the run did so far."""
    row = find_named("reward", name, REWARDS)
    reward: Callable[..., Tensor] = load_named(row.of)
    return partial(reward, so_far=so_far) if row.needs_run and so_far is not None else reward


def _size(sets: Tensor) -> Tensor:
    return sets.sum(-1).float()
