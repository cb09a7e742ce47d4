"""The sizes of a decoder, and a decoder of these sizes."""

from __future__ import annotations

from typing import NamedTuple

from seq2set.nn.decoder import AttentionDecoder


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
