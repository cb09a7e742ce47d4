"""The linear prior: a linear model's margins, added to the decoder's logits and fed to its first state.

On small corpora it gives a decoder a running start; it learns how far to trust the prior for each label.

Letters: B documents, L labels, P numbers that the first state reads.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class LinearPrior(nn.Module):
    """A learned scale and offset for each label, and a view of all margins for the first state."""

    def __init__(self, labels: int, size: int = 64):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(labels))
        self.offset = nn.Parameter(torch.zeros(labels + 1))
        self.view = nn.Linear(labels, size)
        self.size = size

    @torch.no_grad()
    def calibrate(self, slope: float, offset: float) -> None:
        """Begin with the labels' log-odds as logits, so that `eos`, at 0, follows the last likely label."""
        self.scale.fill_(slope)
        self.offset[:-1].fill_(offset)

    def bias(self, margins: Tensor) -> Tensor:
        """Turn margins (B, L) into what is added to logits (B, L + 1); `eos` has an offset alone."""
        return functional.pad(self.scale * margins, (0, 1)) + self.offset

    def start(self, final: Tensor, margins: Tensor) -> Tensor:
        """Put a view of the margins (B, P) beside the encoder's last states (B, 2H)."""
        return torch.cat([final, torch.tanh(self.view(margins))], -1)
