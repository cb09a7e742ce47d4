"""Which words spoke for a label in a convolutional network: those of the windows that won.

Letters: B documents, T words, F filters, S labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2set.nn.convolution import ConvolutionalEncoder, Pooled


@dataclass(frozen=True)
class Windows:
    """Documents that a convolutional encoder has read, for looking back."""

    encoder: ConvolutionalEncoder
    ids: Tensor
    """(B, T)"""
    lengths: Tensor
    """(B,)"""
    pooled: Pooled

    def shares(self, slopes: Tensor) -> Tensor:
        """Return each word's share (B, S, T) of what speaks for scores with slopes (B, S, F) in the features.

        A word that speaks against a label has none, unless all do: then the softmax of what they add ranks
        them, so that every label has its evidence.
        """
        added = self.encoder.contributions(self.ids, self.pooled, slopes)
        place = torch.arange(self.ids.shape[1], device=self.ids.device)
        nothing = (place >= self.lengths[:, None])[:, None]  # (B, 1, T)
        positive = added.masked_fill(nothing, 0.0).clamp(min=0)
        total = positive.sum(-1, keepdim=True)  # (B, S, 1)
        ranked = torch.softmax(added.masked_fill(nothing, float("-inf")), -1)
        return torch.where(total > 0, positive / total, ranked)
