"""What a network made of a batch of documents: the one face that training and prediction see of all networks.

Letters: B documents, T words, S labels, L labels in all.

The sizes of a decoder, and a decoder of these sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from seq2set.config.schema import SearchSettings
from seq2set.nn.decoder import AttentionDecoder, DecoderPolicy
from seq2set.nn.decoding.searches import SearchResult, filled, run_search
from seq2set.nn.decoding.teacher_forcing import attention_along, score_sequences
from seq2set.objectives.losses import negative_log_likelihood


def ordered_likelihood(policy: DecoderPolicy, sequences: Tensor) -> Tensor:
    """Return L(phi): the likelihood loss of a decoder for the right labels (B, S) in the order to learn."""
    return negative_log_likelihood(score_sequences(policy, sequences).steps)


class NetworkOutput(Protocol):
    """Documents as a network has read them."""

    def likelihood(self, sequences: Tensor, gold: Tensor) -> Tensor:
        """Return the loss of the right labels: in the order to learn (B, S), padded, and as sets (B, L)."""

    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:
        """Search the label sets by the search of this name, each of at least so many labels."""

    def attributions(self, sequences: Tensor) -> Tensor:
        """Say for each label of sequences (B, S) what share each word has in the reasons: (B, S, T)."""


class Network(nn.Module):
    """Turns `ids` (B, T), `lengths` (B,) and a prior's margins, if any, into a `NetworkOutput`."""

    decodes: ClassVar[bool] = True
    """Whether there is a decoder to search; without one, scores are all there is."""
    encoder: nn.Module
    """What reads the words"""
    max_labels: int | None
    """How many labels a decoder may emit"""

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return next(self.parameters()).device


@dataclass(frozen=True)
class DecoderOutput:
    """Documents read by a network that answers by a decoder."""

    final: DecoderPolicy
    """The decoder whose labels are the model's answer"""
    most: int | None
    """How many labels it may emit"""

    def likelihood(self, sequences: Tensor, gold: Tensor) -> Tensor:  # noqa: ARG002 (an order has the sets)
        """Return the likelihood loss of the right labels (B, S) in their order."""
        return ordered_likelihood(self.final, sequences)

    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:
        """Search the decoder, which goes on where a set is too small."""
        return filled(self.final, run_search(name, self.final, settings, self.most), least)

    def attributions(self, sequences: Tensor) -> Tensor:
        """Say where the decoder looked when it gave each label (B, S): its attention to the words."""
        return attention_along(self.final, sequences[:, None])[0][:, 0]


class DecoderSizes(NamedTuple):
    """What the settings say of a decoder, as flat values."""

    embedding: int
    hidden: int
    layers: int
    attention: int
    dropout: float
    global_embedding: bool = False


def new_decoder(labels: int, sizes: DecoderSizes, sources: list[int], start: int) -> AttentionDecoder:
    """Build a decoder that attends to sources of these sizes, and begins with `start` numbers."""
    return AttentionDecoder(
        labels,
        sizes.embedding,
        sizes.hidden,
        sources=sources,
        start=start,
        layers=sizes.layers,
        attention=sizes.attention,
        dropout=sizes.dropout,
        global_embedding=sizes.global_embedding,
    )
