"""Seq2Set, the paper's model: an encoder, a sequence decoder D1, and a set decoder D2 that attends to both.

A forward pass binds both decoders to a batch of documents:

    h     = Encoder(x)                        the words' states, and a summary that decoders begin with
    s^d   = states of D1, decoding greedily   eq. 1-7, attending to h
    s_t   = LSTM(s_{t-1}, [e(y_{t-1}); c^e_{t-1}; c^d_{t-1}])      eq. 8: D2 attends to h and to s^d

What `nn.decoder` computes in one step is written there. D1 learns by likelihood, L(phi), and D2 by
self-critical policy gradient, eq. 9-11; `training.step` puts the two together.

D2 always attends to D1's free-running greedy states, in training and in use alike. Were they D1's
teacher-forced states, D2 would read the true labels there in training, and starve without them.

Without D1 it is the paper's simplified variant, `seq2set-simp`; the SGM model, `seq2seq`, is the same network
without D1 and without a prior, trained by ordered likelihood alone.

Letters: B documents, T words, L labels, H hidden units, E and F numbers per state and summary of the encoder,
P numbers of the prior that the first state reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from seq2set.config import Config
from seq2set.models.network import DecoderOutput, Network, build_decoder, build_encoder
from seq2set.models.prior import has_prior
from seq2set.nn.attention import Source
from seq2set.nn.decoder import AttentionDecoder, DecoderPolicy
from seq2set.nn.decoding.prefixes import decode_greedily
from seq2set.nn.decoding.rollout import roll_out_greedily
from seq2set.nn.decoding.torch_decoder import TorchDecoder
from seq2set.nn.encoders import Encoded, Encoder


def build_simplified(config: Config, words: int, labels: int, max_labels: int | None) -> SetNetwork:
    """Build the network without D1: encoder and D2."""
    return build_seq2set(config, words, labels, max_labels, sequence_decoder=False)


def build_seq2set(
    config: Config, words: int, labels: int, max_labels: int | None, *, sequence_decoder: bool = True
) -> SetNetwork:
    """Build the paper's network: encoder, D1 and D2."""
    encoder = build_encoder(config, words)
    prior = LinearPrior(labels) if has_prior(config) else None
    start = encoder.summary_size + (prior.size if prior else 0)
    d1 = build_decoder(config, labels, [encoder.size], start) if sequence_decoder else None
    sources = [encoder.size, config.decoder.hidden] if d1 else [encoder.size]
    d2 = build_decoder(config, labels, sources, start)
    return SetNetwork(encoder, prior, d1, d2, config.set_decoder.train_sequence_decoder, max_labels)


@dataclass(frozen=True)
class Policies(DecoderOutput):
    """Both decoders, bound to a batch of documents; `final` is D2."""

    sequence: DecoderPolicy | None = None
    """D1, or nothing in the simplified variant and in inference mode"""


class SetNetwork(Network):
    """The encoder with D2 and, unless simplified, D1; neither emits more than `max_labels`.

    Without that limit, a decoder that has not learnt yet when to stop would go through all labels.
    """

    def __init__(
        self,
        encoder: Encoder,
        prior: LinearPrior | None,
        sequence_decoder: AttentionDecoder | None,
        set_decoder: AttentionDecoder,
        train_sequence_decoder: bool = False,
        max_labels: int | None = None,
    ):
        super().__init__()
        self.encoder, self.prior = encoder, prior
        self.sequence_decoder, self.set_decoder = sequence_decoder, set_decoder
        self.train_sequence_decoder, self.max_labels = train_sequence_decoder, max_labels

    def forward(self, ids: Tensor, lengths: Tensor, margins: Tensor | None = None) -> Policies:
        """Read documents (B, T) once and bind both decoders to them."""
        encoded: Encoded = self.encoder(ids, lengths)
        start, bias = encoded.summary, None  # (B, F)
        if self.prior is not None:
            assert margins is not None, "this network was built with a linear prior"
            start, bias = self.prior.start(start, margins), self.prior.bias(margins)  # (B, F + P), (B, L + 1)
        words = Source(encoded.states, encoded.mask)  # (B, T, E): h
        if self.sequence_decoder is None:
            return Policies(self.set_decoder.bind(start, [words], bias), self.max_labels)
        sequence = self.sequence_decoder.bind(start, [words], bias)
        # eq. 8: the set decoder attends to the words and to D1's states.
        final = self.set_decoder.bind(start, [words, self._free_run(sequence)], bias)
        # Prediction is done with D1, whose keys take as much as half of the states.
        return Policies(final, self.max_labels, None if torch.is_inference_mode_enabled() else sequence)

    def _free_run(self, sequence: DecoderPolicy) -> Source:
        """Decode D1 greedily and return its states (B, S + 1, H), up to and including that of `eos`.

        D2's loss does not flow into D1, unless the settings ask for it. Only training needs gradients and
        dropout, which the searches of prediction do without.
        """
        flows = torch.is_grad_enabled() and self.train_sequence_decoder
        if self.training or flows:
            with torch.set_grad_enabled(flows):
                return roll_out_greedily(sequence, max_steps=self.max_labels, keep_states=True).source
        found = decode_greedily(TorchDecoder(sequence), max_steps=self.max_labels, keep_outputs=True)
        states, mask = torch.from_numpy(found.outputs), torch.from_numpy(found.mask)
        return Source(states.to(sequence.device), mask.to(sequence.device))


class LinearPrior(nn.Module):
    """A linear model's margins, added to the decoders' logits and fed to their first states.

    On small corpora it gives a decoder a running start; a learned scale and offset per label say how far to
    trust the prior, and a view of all margins stands beside the encoder's summary.
    """

    def __init__(self, labels: int, size: int = 64):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(labels))
        self.offset = nn.Parameter(torch.zeros(labels + 1))
        self.view = nn.Linear(labels, size)
        self.size = size

    @torch.no_grad()
    def calibrate(self, slope: float, offset: float) -> None:
        """Begin with the labels' log-odds as logits, so that `eos`, at 0, follows the last likely label."""
        self.scale.fill_(slope)
        self.offset[:-1].fill_(offset)

    def bias(self, margins: Tensor) -> Tensor:
        """Turn margins (B, L) into what is added to logits (B, L + 1); `eos` has an offset alone."""
        return functional.pad(self.scale * margins, (0, 1)) + self.offset

    def start(self, summary: Tensor, margins: Tensor) -> Tensor:
        """Put a view of the margins (B, P) beside the encoder's summary (B, F)."""
        return torch.cat([summary, torch.tanh(self.view(margins))], -1)
