"""How fast which weights learn, and from when on.

An encoder may have rates of its own by layer, and layers that begin to learn later than others. One that does
not learn yet costs no backward pass, and Adam knows nothing of it: it begins as at the first update.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seq2set.nn.encoders import OwnRate
from seq2set.training.checkpoint import Position
from seq2set.training.step import Phase


class PhasePlan(NamedTuple):
    """One phase of a run."""

    name: Phase
    epochs: int
    learning_rate: float
    decay: float
    """What the learning rate is multiplied by after every epoch"""


class LearningRates:
    """Learning rates of a network, of which some weights may have their own."""

    def __init__(self, own: Sequence[OwnRate], batches: int):
        self.own, self.batches = own, batches

    def group_weights(self, module: nn.Module) -> list[dict[str, Any]]:
        """Return what Adam learns, the weights with a rate of their own behind the rest."""
        apart = {id(weight) for group in self.own for weight in group.weights}
        rest = [one for one in module.parameters() if one.requires_grad and id(one) not in apart]
        return [{"params": rest}, *({"params": group.weights} for group in self.own)]

    def set(self, adam: torch.optim.Optimizer, phase: PhasePlan, position: Position) -> None:
        """Give each group the rate of the next update."""
        decay, done = phase.decay**position.epoch, position.epoch * self.batches + position.batch + 1
        first, *others = adam.param_groups
        first["lr"] = phase.learning_rate * decay
        for group, own in zip(others, self.own, strict=True):
            rising = own.warm_up * phase.epochs * self.batches  # updates
            group["lr"] = own.rate * decay * min(1.0, done / max(rising, 1.0))

    def list_waiting(self, updates: int) -> list[nn.Parameter]:
        """Return the weights that do not learn yet after a number of updates."""
        late = (group for group in self.own if updates + _ROUNDING < group.begins * self.batches)
        return [weight for group in late for weight in group.weights]

    def describe_late(self, epochs: int) -> str:
        """Say how many layers do not begin to learn in a run of `epochs` epochs, if there are any."""
        if not (late := sum(group.begins >= epochs for group in self.own)):
            return ""
        return (
            f"{late} of the {len(self.own)} layers that encoder.tune names (sub-word vectors are one) never "
            f"begin to learn: encoder.unfreeze_every is too long for {epochs} epochs"
        )


_ROUNDING = 1e-6
"""Of products such as 3 * 0.1 * 10"""


@contextmanager
def hold_still(weights: Sequence[nn.Parameter]) -> Iterator[None]:
    """Compute in the block as with weights that do not learn, so that no backward pass goes on to them."""
    _set_learning(weights, learns=False)
    try:
        yield
    finally:
        _set_learning(weights, learns=True)


def _set_learning(weights: Sequence[nn.Parameter], *, learns: bool) -> None:
    for weight in weights:
        weight.requires_grad_(learns)


def touch(weights: Sequence[nn.Parameter]) -> Tensor:
    """Return 0, by which each weight gets a gradient: processes in step wait for one of every weight."""
    return torch.stack([weight.flatten()[:1].sum() for weight in weights]).sum() * 0


def drop_gradients(weights: Sequence[nn.Parameter]) -> None:
    """Forget gradients, so that they are neither measured nor learnt from."""
    for weight in weights:
        weight.grad = None
