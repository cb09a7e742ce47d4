"""The network of the paper: an encoder, a sequence decoder D1, and a set decoder D2 that attends to both.

D2 always attends to D1's free-running greedy states, in training and in use alike. Were they D1's
teacher-forced states, D2 would read the true labels there in training, and starve without them.

The SGM model, `seq2seq`, is the same network without D1, trained by ordered likelihood alone.

Letters: B documents, T words, L labels, H hidden units a direction of the encoder.

From settings to a network: the only place where the two meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2set.config import Config
from seq2set.config.catalog import find_model
from seq2set.models.cnn import ConvolutionalNetwork
from seq2set.models.cnn_rnn import ConvolutionalRecurrentNetwork
from seq2set.models.network_output import DecoderOutput, DecoderSizes, Network, new_decoder
from seq2set.nn.attention import Source
from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.searches import greedy
from seq2set.nn.encoders.bilstm import Encoded, Encoder
from seq2set.nn.encoders.convolution import ConvolutionalEncoder
from seq2set.nn.prior import LinearPrior


@dataclass(frozen=True)
class Policies(DecoderOutput):
    """Both decoders, bound to a batch of documents; `final` is D2."""

    sequence: DecoderPolicy | None = None
    """D1, or nothing in the simplified variant"""


class SetNetwork(Network):
    """The encoder with D2 and, unless simplified, D1; neither emits more than `max_labels`.

    Without that limit, a decoder that has not learnt yet when to stop would go through all labels.
    """

    def __init__(
        self,
        encoder: Encoder,
        labels: int,
        sizes: DecoderSizes,
        *,
        sequence_decoder: bool,
        train_sequence_decoder: bool = False,
        prior: bool = False,
        max_labels: int | None = None,
    ):
        super().__init__()
        self.encoder, self.max_labels = encoder, max_labels
        self.train_sequence_decoder = train_sequence_decoder
        self.prior = LinearPrior(labels) if prior else None
        words = 2 * encoder.bilstm.lstm.hidden_size
        start = words + (self.prior.size if self.prior else 0)
        self.sequence_decoder = new_decoder(labels, sizes, [words], start) if sequence_decoder else None
        sources = [words, sizes.hidden] if sequence_decoder else [words]
        self.set_decoder = new_decoder(labels, sizes, sources, start)

    def forward(self, ids: Tensor, lengths: Tensor, margins: Tensor | None = None) -> Policies:
        """Read documents (B, T) once and bind both decoders to them."""
        encoded: Encoded = self.encoder(ids, lengths)
        start, bias = encoded.final[-1], None  # (B, 2H)
        if self.prior is not None:
            assert margins is not None, "this network was built with a linear prior"
            start, bias = self.prior.start(start, margins), self.prior.bias(margins)
        words = Source(encoded.states, encoded.mask)
        if self.sequence_decoder is None:
            return Policies(self.set_decoder.given(start, [words], bias), self.max_labels)
        sequence = self.sequence_decoder.given(start, [words], bias)
        final = self.set_decoder.given(start, [words, self._free_run(sequence)], bias)
        return Policies(final, self.max_labels, sequence)

    def _free_run(self, sequence: DecoderPolicy) -> Source:
        """Let D1 run free and keep its states, for D2 to attend to."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.train_sequence_decoder):
            return greedy(sequence, max_steps=self.max_labels, keep_states=True).source


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
    return config.prior.enabled and find_model(config.model).family == "set"


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
