"""The convolutional encoder: word vectors, filters of several widths, and their largest response over time.

Kim's network for texts: a filter of width w responds to each w words in a row, a window, with

    relu(W_1 e_i + .. + W_w e_{i+w-1} + b)

and only its largest response counts in the summary. Windows lie within their text, so that no padding ever
competes; a text shorter than a filter has one window, in which nothing follows its last word.

Letters: B documents, T words, E numbers per word vector, F filters of all widths, f of one width, S labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from seq2set.config import Config
from seq2set.nn.encoders import Encoded, Encoder
from seq2set.nn.noise import DocumentDropout


class ConvolutionalEncoder(Encoder):
    """Word vectors learned from scratch, then `filters` filters of each width."""

    def __init__(self, words: int, embedding: int, widths: Sequence[int], filters: int, dropout: float = 0.0):
        super().__init__()
        self.embedding = nn.Embedding(words, embedding, padding_idx=0)
        self.dropout = DocumentDropout(dropout, along=True)
        self.kernels = nn.ModuleList(nn.Conv1d(embedding, filters, width) for width in widths)
        self.size = self.summary_size = len(widths) * filters

    def forward(self, tokens: Tensor, lengths: Tensor) -> Encoded:
        """Encode (B, T) word numbers: a word's state has the responses to the windows that begin with it."""
        place = torch.arange(tokens.shape[1], device=tokens.device)
        mask = place < lengths[:, None]
        responses = self._compute_responses(tokens, lengths)
        states = torch.cat([_pad(one, tokens.shape[1]) for one in responses], 1).mT  # (B, T, F)
        summary = torch.cat([functional.relu(one.max(-1).values) for one in responses], 1)  # (B, F)
        return Encoded(functional.relu(states).masked_fill(~mask[..., None], 0.0), mask, summary)

    def read_windows(self, tokens: Tensor, lengths: Tensor) -> Windows:
        """Encode documents to a summary alone, and remember the windows that it comes from."""
        best = [one.max(-1) for one in self._compute_responses(tokens, lengths)]
        summary = torch.cat([functional.relu(one.values) for one in best], 1)
        return Windows(self, tokens, lengths, summary, torch.cat([one.indices for one in best], 1))

    def list_kernels(self) -> list[nn.Conv1d]:
        """Return the filters of each width."""
        return cast("list[nn.Conv1d]", list(self.kernels))

    def _compute_responses(self, tokens: Tensor, lengths: Tensor) -> list[Tensor]:
        """Return the filters' responses (B, f, T - w + 1), for each width w, before relu."""
        vectors = self.dropout(self.embedding(tokens)).mT  # (B, E, T)
        return [_respond(kernel, vectors, lengths) for kernel in self.list_kernels()]


def build_convolution(config: Config, words: int) -> ConvolutionalEncoder:
    """Build the encoder of the settings for a vocabulary of `words` words."""
    encoder, cnn = config.encoder, config.cnn
    return ConvolutionalEncoder(words, encoder.embedding, cnn.widths, cnn.filters, encoder.dropout)


def _respond(kernel: nn.Conv1d, vectors: Tensor, lengths: Tensor) -> Tensor:
    """Return the responses to windows of vectors (B, E, T); -inf for those that do not lie within a text."""
    width = kernel.kernel_size[0]
    missing = max(0, width - vectors.shape[-1])
    responses: Tensor = kernel(functional.pad(vectors, (0, missing)))  # (B, f, T - w + 1)
    first = torch.arange(responses.shape[-1], device=responses.device)
    outside = first > (lengths - width).clamp(min=0)[:, None]  # (B, T - w + 1)
    return responses.masked_fill(outside[:, None], float("-inf"))


def _pad(responses: Tensor, words: int) -> Tensor:
    """Let words that no window begins with respond to nothing: (B, f, T - w + 1) -> (B, f, T)."""
    return functional.pad(responses, (0, words - responses.shape[-1]), value=float("-inf"))


@dataclass(frozen=True)
class Windows:
    """Documents as a convolutional encoder read them: the windows that gave the largest responses."""

    encoder: ConvolutionalEncoder
    tokens: Tensor
    """(B, T)"""
    lengths: Tensor
    """(B,)"""
    summary: Tensor
    """(B, F) the largest response of each filter, at least 0"""
    places: Tensor
    """(B, F) the first word of the window that gave it"""

    def contributions(self, slopes: Tensor) -> Tensor:
        """Return what each word adds (B, S, T) to scores that have slopes (B, S, F) in the summary.

        A response is a sum over the words of its window, so this is exact; only the biases are missing.
        """
        kernels = self.encoder.list_kernels()
        widest = max(kernel.kernel_size[0] for kernel in kernels)
        vectors = functional.pad(self.encoder.embedding(self.tokens), (0, 0, 0, widest))  # (B, T + w, E)
        added = slopes.new_zeros(*slopes.shape[:2], vectors.shape[1])  # (B, S, T + w)
        active = slopes.masked_fill((self.summary <= 0)[:, None], 0.0)  # relu passes nothing on below 0
        sizes = [kernel.out_channels for kernel in kernels]
        parts = zip(kernels, torch.split(self.places, sizes, 1), torch.split(active, sizes, 2), strict=True)
        for kernel, places, slope in parts:
            for offset in range(kernel.kernel_size[0]):
                said = vectors @ kernel.weight[:, :, offset].mT  # (B, T + w, E) x (E, f)
                place = (places + offset)[:, None]  # (B, 1, f)
                added.scatter_add_(2, place.expand_as(slope), slope * said.gather(1, place))
        return added[..., : self.tokens.shape[1]]
