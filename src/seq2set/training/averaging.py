"""A running average of the weights: what is measured and kept where single updates are noisy.

Policy gradient on a few sampled sets moves the weights as much by chance as by what it learnt; the average
over the last updates keeps the second and loses most of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class AveragedWeights:
    """The running average of a network's weights; with a decay of 0 it is the weights themselves."""

    def __init__(self, network: nn.Module, decay: float):
        self.network, self.decay = network, decay
        self.average: dict[str, Tensor] = {}
        self.restart()

    @torch.no_grad()
    def restart(self) -> None:
        """Begin anew, from the weights as they are."""
        self.average = {name: value.clone() for name, value in self._weights().items()}

    @torch.no_grad()
    def add(self, updates: int) -> None:
        """Take in the weights after an update, so many updates after the beginning.

        The first ones count more, as the weights that the average begins with are the least learnt.
        """
        decay = min(self.decay, (1 + updates) / (10 + updates))
        for name, value in self._weights().items():
            self.average[name].lerp_(value, 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Give the network the averaged weights for a while."""
        own = {name: value.clone() for name, value in self._weights().items()}
        self._set(self.average)
        try:
            yield
        finally:
            self._set(own)

    def tensors(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold."""
        return dict(self.average)

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from a checkpoint's average."""
        for name, value in self.average.items():
            value.copy_(tensors[name])

    def _weights(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in self.network.named_parameters() if self.decay}

    @torch.no_grad()
    def _set(self, values: Mapping[str, Tensor]) -> None:
        for name, value in self._weights().items():
            value.copy_(values[name])
