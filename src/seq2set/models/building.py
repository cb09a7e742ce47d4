"""From settings to a network: the only place where the two meet."""

from __future__ import annotations

from seq2set.config import Config
from seq2set.models.cnn_rnn import ConvolutionalRecurrentNetwork
from seq2set.models.convolutional import ConvolutionalNetwork
from seq2set.models.decoders import DecoderSizes
from seq2set.models.network import SetNetwork
from seq2set.models.reading import Network
from seq2set.nn.convolution import ConvolutionalEncoder
from seq2set.nn.encoder import Encoder

SET_MODELS = ("seq2set", "seq2set-simp")
"""The models of the paper itself, trained by policy gradient; the others learn by likelihood alone."""


def build_network(config: Config, words: int, labels: int, max_labels: int | None = None) -> Network:
    """Build the network that the settings describe, with random weights; it emits up to `max_labels`."""
    if config.model == "cnn":
        return ConvolutionalNetwork(_convolution(config, words), labels, config.cnn.dropout)
    if config.model == "cnn-rnn":
        return ConvolutionalRecurrentNetwork(
            _convolution(config, words), labels, _sizes(config), config.cnn.dropout, max_labels
        )
    encoder = config.encoder
    return SetNetwork(
        Encoder(_known(config, words), encoder.embedding, encoder.hidden, encoder.layers, encoder.dropout),
        labels,
        _sizes(config),
        sequence_decoder=config.model == "seq2set",
        train_sequence_decoder=config.set_decoder.train_sequence_decoder,
        prior=has_prior(config),
        max_labels=max_labels,
    )


def has_prior(config: Config) -> bool:
    """Say whether there is a linear prior: the set decoder's option, which the baselines do not have."""
    return config.prior.enabled and config.model in SET_MODELS


def _known(config: Config, words: int) -> int:
    # Two numbers before the words stand for padding and for unknown words.
    return min(words, config.encoder.words + 2)


def _convolution(config: Config, words: int) -> ConvolutionalEncoder:
    encoder, cnn = config.encoder, config.cnn
    return ConvolutionalEncoder(
        _known(config, words), encoder.embedding, cnn.widths, cnn.filters, encoder.dropout
    )


def _sizes(config: Config) -> DecoderSizes:
    decoder = config.decoder
    return DecoderSizes(
        decoder.embedding,
        decoder.hidden,
        decoder.layers,
        decoder.attention or decoder.hidden,
        decoder.dropout,
        decoder.global_embedding,
    )
