"""The `cnn` model: convolution over the words, and one logit per label on the largest responses.

Kim's network with a sigmoid per label instead of the softmax, as the paper's baseline has it. Training
minimises the binary cross-entropy, summed over the labels of a document.

Letters: B documents, T words, F filters, S labels, L labels in all.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from seq2set.config import Config
from seq2set.config.schema import SearchSettings
from seq2set.models.network import Network, count_vectors
from seq2set.nn.decoding.searches import SearchResult
from seq2set.nn.encoders.convolution import ConvolutionalEncoder, Windows, build_convolution
from seq2set.nn.noise import DocumentDropout
from seq2set.objectives.losses import compute_likelihood_loss


@dataclass(frozen=True)
class LabelLogits:
    """One logit per label; labels are independent of each other, so there is nothing to search."""

    logits: Tensor
    """(B, L)"""
    weights: Tensor
    """(L, F) of the layer that gave them"""
    windows: Windows

    def likelihood(self, sequences: Tensor, gold: Tensor) -> Tensor:  # noqa: ARG002 (sets have no order)
        """Return the binary cross-entropy of the right sets (B, L): each label's yes or no is one step."""
        return compute_likelihood_loss(functional.logsigmoid(torch.where(gold, self.logits, -self.logits)))

    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:  # noqa: ARG002
        """Return each label's own probability, for a rule to decide."""
        return SearchResult(torch.sigmoid(self.logits.float()).cpu().numpy(), None)

    def attributions(self, sequences: Tensor) -> Tensor:
        """Return for each label (B, S) what its weights make of the words in the windows that won."""
        return self.windows.contributions(self.weights[sequences.clamp(max=len(self.weights) - 1)])


class ConvolutionalNetwork(Network):
    """A convolutional encoder, dropout, and one linear layer."""

    decodes = False
    encoder: ConvolutionalEncoder

    def __init__(self, encoder: ConvolutionalEncoder, labels: int, dropout: float = 0.0):
        super().__init__()
        self.encoder, self.max_labels = encoder, None
        self.dropout = DocumentDropout(dropout)
        self.output = nn.Linear(encoder.summary_size, labels)

    def forward(self, ids: Tensor, lengths: Tensor, margins: Tensor | None = None) -> LabelLogits:  # noqa: ARG002
        """Read documents (B, T); there is no prior."""
        windows = self.encoder.read_windows(ids, lengths)
        logits = self.output(self.dropout(windows.summary))  # (B, F) x (F, L)
        return LabelLogits(logits, self.output.weight, windows)


def build_cnn(config: Config, words: int, labels: int, max_labels: int | None) -> ConvolutionalNetwork:  # noqa: ARG001
    """Build the network of the settings; without a decoder no number of labels is too large."""
    encoder = build_convolution(config, count_vectors(config, words))
    return ConvolutionalNetwork(encoder, labels, config.cnn.dropout)
