"""The convolutional encoder: word vectors, filters of several widths, and their largest response over time.

Kim's network for texts: a filter of width w responds to each w words in a row, a window, with

    relu(W_1 e_i + .. + W_w e_{i+w-1} + b)

and only its largest response counts. Windows lie within their text, so that no padding ever competes; a text
shorter than a filter has one window, in which nothing follows its last word.

Letters: B documents, T words, E numbers a word vector, F filters of all widths, f of one width, S labels.

Which words spoke for a label in a convolutional network: those of the windows that won.

Letters: B documents, T words, F filters, S labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional


class Pooled(NamedTuple):
    """The largest response of each filter."""

    features: Tensor
    """(B, F) at least 0"""
    places: Tensor
    """(B, F) the first word of the window that gave it"""


class ConvolutionalEncoder(nn.Module):
    """Word vectors learned from scratch, then `filters` filters of each width; word 0 is padding."""

    def __init__(self, words: int, embedding: int, widths: Sequence[int], filters: int, dropout: float = 0.0):
        super().__init__()
        self.embedding = nn.Embedding(words, embedding, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.kernels = nn.ModuleList(nn.Conv1d(embedding, filters, width) for width in widths)
        self.size = len(widths) * filters

    def forward(self, ids: Tensor, lengths: Tensor) -> Pooled:
        """Read (B, T) word numbers of documents of `lengths` (B,) words."""
        vectors = self.dropout(self.embedding(ids)).mT  # (B, E, T)
        parts = [_pooled(kernel, vectors, lengths) for kernel in self._kernels()]
        features, places = (torch.cat(side, 1) for side in zip(*parts, strict=True))
        return Pooled(features, places)

    def contributions(self, ids: Tensor, pooled: Pooled, slopes: Tensor) -> Tensor:
        """Say what each word of documents (B, T) adds to scores that have slopes (B, S, F) in the features.

        A response is a sum over the words of its window, so this is exact: (B, S, T), to which the biases
        alone are missing.
        """
        vectors = self.embedding(ids)
        widest = max(kernel.kernel_size[0] for kernel in self._kernels())
        vectors = functional.pad(vectors, (0, 0, 0, widest))  # (B, T + w, E)
        added = slopes.new_zeros(*slopes.shape[:2], vectors.shape[1])  # (B, S, T + w)
        active = slopes.masked_fill((pooled.features <= 0)[:, None], 0.0)  # relu passes nothing on below 0
        sizes = [kernel.out_channels for kernel in self._kernels()]
        parts = zip(
            self._kernels(), torch.split(pooled.places, sizes, 1), torch.split(active, sizes, 2), strict=True
        )
        for kernel, places, slope in parts:
            for offset in range(kernel.kernel_size[0]):
                said = vectors @ kernel.weight[:, :, offset].mT  # (B, T + w, E) x (E, f)
                place = (places + offset)[:, None]  # (B, 1, f)
                added.scatter_add_(2, place.expand_as(slope), slope * said.gather(1, place))
        return added[..., : ids.shape[1]]

    def _kernels(self) -> list[nn.Conv1d]:
        return cast("list[nn.Conv1d]", list(self.kernels))


def _pooled(kernel: nn.Conv1d, vectors: Tensor, lengths: Tensor) -> Pooled:
    """Take the largest response (B, f) to vectors (B, E, T), over windows that lie within a text."""
    width = kernel.kernel_size[0]
    missing = max(0, width - vectors.shape[-1])
    responses = kernel(functional.pad(vectors, (0, missing)))  # (B, f, T - w + 1)
    first = torch.arange(responses.shape[-1], device=responses.device)
    outside = first > (lengths - width).clamp(min=0)[:, None]  # (B, T - w + 1)
    best = responses.masked_fill(outside[:, None], float("-inf")).max(-1)
    return Pooled(functional.relu(best.values), best.indices)


@dataclass(frozen=True)
class Windows:
    """Documents that a convolutional encoder has read, for looking back."""

    encoder: ConvolutionalEncoder
    ids: Tensor
    """(B, T)"""
    lengths: Tensor
    """(B,)"""
    pooled: Pooled

    def attributions(self, slopes: Tensor) -> Tensor:
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
