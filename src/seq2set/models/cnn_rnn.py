"""The `cnn-rnn` model: convolution reads the text as a whole, and a recurrent network gives its labels.

After Chen et al. (2017), where the paper is silent:

- the filters' largest responses, less their mean, are the global features of a text. All responses are
  positive and much alike, and what they have in common would drive the LSTM's first state to its limits,
  where all texts look the same, before anything is learnt;
- a dense layer, the decoder's own, makes the label LSTM's first state and cell of them, which is all that it
  knows of the text: there is no attention;
- it is the decoder of the other models without a source, so that the mask, `eos`, the likelihood on ordered
  labels and the searches are theirs.

Letters: B documents, T words, F filters, S labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2set.config import Config
from seq2set.models.network import DecoderOutput, Network, build_decoder, count_vectors
from seq2set.nn.decoder import AttentionDecoder, DecoderPolicy
from seq2set.nn.decoding.teacher_forcing import score_sequences
from seq2set.nn.encoders.convolution import ConvolutionalEncoder, Windows, build_convolution
from seq2set.nn.noise import DocumentDropout

POINTS = 8
"""At how many points of the way a slope is taken, when a label is explained."""


@dataclass(frozen=True)
class WindowedOutput(DecoderOutput):
    """A label LSTM bound to documents, and the windows that its beginning comes from."""

    network: ConvolutionalRecurrentNetwork
    windows: Windows

    def attributions(self, sequences: Tensor) -> Tensor:
        """Return for each label (B, S) what the words in the windows that won add to it.

        There is no attention to look at. What a feature adds to the log-probability of a label, in its own
        step after the labels before it, is its integrated gradient: its value times the mean slope on the
        way from no response of any filter to what they are. Taken there alone, the slope of a network that
        is sure of itself would be next to nothing.
        """
        # Only tensors made outside inference mode have gradients.
        with torch.inference_mode(False), torch.enable_grad():
            features, labels = self.windows.summary.detach().clone(), sequences.clone()
            way = [(point + 0.5) / POINTS * features for point in range(POINTS)]
            slopes = torch.stack([self._compute_slopes(one.requires_grad_(), labels) for one in way]).mean(0)
        return self.windows.contributions(slopes)

    def _compute_slopes(self, features: Tensor, labels: Tensor) -> Tensor:
        """Return the slopes (B, S, F) of the log-probabilities of labels (B, S) in features (B, F)."""
        steps = score_sequences(self.network.bind(features), labels).steps  # (B, S + 1)
        slopes = features.new_zeros(*labels.shape, features.shape[1])
        for step in range(labels.shape[1]):
            (slopes[:, step],) = torch.autograd.grad(steps[:, step].sum(), features, retain_graph=True)
        return slopes


class ConvolutionalRecurrentNetwork(Network):
    """A convolutional encoder, and a decoder without attention that begins with its summary."""

    encoder: ConvolutionalEncoder

    def __init__(
        self,
        encoder: ConvolutionalEncoder,
        decoder: AttentionDecoder,
        dropout: float = 0.0,
        max_labels: int | None = None,
    ):
        super().__init__()
        self.encoder, self.max_labels = encoder, max_labels
        self.dropout = DocumentDropout(dropout)
        self.decoder = decoder

    def forward(self, ids: Tensor, lengths: Tensor, margins: Tensor | None = None) -> WindowedOutput:  # noqa: ARG002
        """Read documents (B, T) and bind the decoder to them; there is no prior."""
        windows = self.encoder.read_windows(ids, lengths)
        return WindowedOutput(self.bind(windows.summary), self.max_labels, self, windows)

    def bind(self, features: Tensor) -> DecoderPolicy:
        """Bind the decoder to documents of these features (B, F)."""
        return self.decoder.bind(self.dropout(features - features.mean(1, keepdim=True)), [])


def build_cnn_rnn(
    config: Config, words: int, labels: int, max_labels: int | None
) -> ConvolutionalRecurrentNetwork:
    """Build the network of the settings."""
    encoder = build_convolution(config, count_vectors(config, words))
    decoder = build_decoder(config, labels, [], encoder.summary_size)
    return ConvolutionalRecurrentNetwork(encoder, decoder, config.cnn.dropout, max_labels)
