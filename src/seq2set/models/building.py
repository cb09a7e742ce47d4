"""From settings to a network: the only place where the two meet."""

from __future__ import annotations

from seq2set.config import Config
from seq2set.models.network import DecoderSizes, SetNetwork
from seq2set.nn.encoder import Encoder

SEQUENCE_DECODER = {"seq2set": True, "seq2set-simp": False}
"""Which of the models has the sequence decoder D1."""


def build_network(config: Config, words: int, labels: int, max_labels: int | None = None) -> SetNetwork:
    """Build the network that the settings describe, with random weights; it emits up to `max_labels`."""
    encoder, decoder = config.encoder, config.decoder
    return SetNetwork(
        # Two numbers before the words stand for padding and for unknown words.
        Encoder(
            min(words, encoder.words + 2), encoder.embedding, encoder.hidden, encoder.layers, encoder.dropout
        ),
        labels,
        DecoderSizes(
            decoder.embedding,
            decoder.hidden,
            decoder.layers,
            decoder.attention or decoder.hidden,
            decoder.dropout,
        ),
        sequence_decoder=SEQUENCE_DECODER[config.model],
        train_sequence_decoder=config.set_decoder.train_sequence_decoder,
        prior=config.prior.enabled,
        max_labels=max_labels,
    )
