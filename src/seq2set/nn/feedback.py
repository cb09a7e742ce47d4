"""The global embedding of the SGM model: a decoder's next input tells of all labels that were likely.

    e = e(y_t)                           the embedding of the label that was emitted
    a = sum_i p_i e_i                    the mean embedding under the distribution p that emitted it
    H = sigmoid(W_1 e + W_2 a)           the transform gate
    g = (1 - H) * e + H * a              what the LSTM reads in the place of e

so that a label emitted wrongly does not mislead the steps after it that much. The gate is a sigmoid, as in
the authors' program; their paper writes it without one.

Letters: B documents, K hypotheses a document, E numbers a label vector.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class GlobalEmbedding(nn.Module):
    """The gate between the emitted label's embedding and the mean of all."""

    def __init__(self, size: int):
        super().__init__()
        self.W_1 = nn.Linear(size, size, bias=False)
        self.W_2 = nn.Linear(size, size, bias=False)

    def forward(self, label: Tensor, mean: Tensor) -> Tensor:
        """Mix the emitted labels' embeddings and the mean ones, (B, K, E) both."""
        gate = torch.sigmoid(self.W_1(label) + self.W_2(mean))  # (B, K, E)
        return label + gate * (mean - label)
