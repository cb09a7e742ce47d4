"""The networks on ONNX Runtime, each named by its models' rows in the catalog; the numbers are torch's.

A class says which graphs its network has (`build_graphs`, for the export) and runs them (`read`).

Letters: B documents, T words, S labels of a sequence, L labels, F filters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seq2set.config import Config
from seq2set.config.schema import SearchSettings
from seq2set.inference.graphs.builder import Graph
from seq2set.inference.graphs.decoder import build_decoder_graphs
from seq2set.inference.graphs.encoders import build_cnn_graph, build_encoder_graph, build_windows_graph
from seq2set.inference.onnx_decoder import Array, AttendedSource, OnnxDecoder, Sessions
from seq2set.inference.window_evidence import ResponseWindows, find_slopes
from seq2set.models.neural import RuntimeOutput
from seq2set.models.prior import has_prior
from seq2set.nn.decoding.contributions import OutputLayer
from seq2set.nn.decoding.prefixes import decode_greedily
from seq2set.nn.decoding.searches import SearchResult, run_search
from seq2set.text.vocabulary import PAD

Weights = dict[str, Array]

WORDS_AT_A_TIME = 2_048
"""Of the documents that an encoder reads together; more would not make it faster, but take more memory"""


@dataclass(frozen=True)
class OnnxNetwork(ABC):
    """A network's graphs, opened."""

    sessions: Sessions
    config: Config
    labels: int
    max_labels: int | None
    tensors: Callable[[], Weights]
    """Its weights, which evidence needs; read from the file when they are called for"""

    decodes: ClassVar[bool] = True

    @staticmethod
    @abstractmethod
    def build_graphs(config: Config, weights: Weights) -> dict[str, Graph]:
        """Return the graphs of a network with these weights, by name."""

    @abstractmethod
    def read(self, ids: Array, lengths: Array, margins: Array | None = None) -> RuntimeOutput:
        """Read documents (B, T) of `lengths` (B,) words."""


@dataclass(frozen=True)
class DecoderBatch:
    """A batch of documents that a decoder answers for."""

    decoder: OnnxDecoder
    most: int | None
    tensors: Callable[[], Weights]

    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:
        """Search the label sets by the search of this name, each of at least `least` labels."""
        return run_search(name, self.decoder, settings, self.most, least)

    def attributions(self, sequences: Array) -> Array:
        """Return what the words that the decoder read add to each label (B, S)."""
        weights = self.tensors()
        layer = OutputLayer(weights["set_decoder.readout.weight"], weights["set_decoder.W_o.weight"])
        return self.decoder.contributions_along(sequences, layer)


class OnnxSetNetwork(OnnxNetwork):
    """`seq2set`, and without the sequence decoder `seq2set-simp` and `seq2seq`."""

    @staticmethod
    def build_graphs(config: Config, weights: Weights) -> dict[str, Graph]:
        """Return the graphs of the encoder and of each decoder."""
        graphs = {"encoder": build_encoder_graph(config, weights, prior=has_prior(config))}
        for name in ("sequence", "set"):
            if f"{name}_decoder.W_o.weight" in weights:
                start, step = build_decoder_graphs(weights, f"{name}_decoder.")
                graphs |= {f"{name}-start": start, f"{name}-step": step}
        return graphs

    def read(self, ids: Array, lengths: Array, margins: Array | None = None) -> DecoderBatch:
        """Read documents and bind the decoders to them; D2 attends to D1's free-running greedy states."""
        prior = {} if margins is None else {"margins": margins}
        read = self._encode(_pad_words(self.config, ids, lengths) | prior)
        there = np.arange(ids.shape[1]) < lengths[:, None]
        sources = [AttendedSource.of(read["states"][:, : ids.shape[1]], there)]
        bias = read.get("bias")
        if "sequence-step" in self.sessions:
            first = OnnxDecoder(self.sessions, "sequence", read["start"], sources, self.labels, bias)
            greedy = decode_greedily(first, max_steps=self.max_labels, keep_outputs=True)
            assert greedy.outputs is not None
            sources.append(AttendedSource.of(greedy.outputs, greedy.mask))
        decoder = OnnxDecoder(self.sessions, "set", read["start"], sources, self.labels, bias)
        return DecoderBatch(decoder, self.max_labels, self.tensors)

    def _encode(self, inputs: dict[str, Array]) -> dict[str, Array]:
        """Run the encoder for some documents at a time: gates take several times the memory of states."""
        documents, words = inputs["ids"].shape
        size = max(1, WORDS_AT_A_TIME // max(1, words))
        blocks = [slice(at, at + size) for at in range(0, documents, size)]
        parts = [
            self.sessions.run("encoder", {name: part[block] for name, part in inputs.items()})
            for block in blocks
        ]
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class OnnxCnn(OnnxNetwork):
    """`cnn`: one graph gives all scores."""

    decodes = False

    @staticmethod
    def build_graphs(config: Config, weights: Weights) -> dict[str, Graph]:
        """Return the one graph."""
        return {"cnn": build_cnn_graph(config, weights)}

    def read(self, ids: Array, lengths: Array, margins: Array | None = None) -> ScoredBatch:  # noqa: ARG002
        """Read documents; there is no prior."""
        read = self.sessions.run("cnn", _pad_words(self.config, ids, lengths))
        windows = ResponseWindows(ids, lengths, read["summary"], read["places"], self.tensors)
        return ScoredBatch(read["scores"], windows)


@dataclass(frozen=True)
class ScoredBatch:
    """A batch of documents with each label's probability (B, L)."""

    scores: Array
    windows: ResponseWindows

    def search(self, name: str, settings: SearchSettings, least: int = 0) -> SearchResult:  # noqa: ARG002
        """Return each label's own probability, for a rule to decide."""
        return SearchResult(self.scores, None)

    def attributions(self, sequences: Array) -> Array:
        """Return for each label (B, S) what its weights make of the words in the windows that won."""
        weights = self.windows.tensors()["output.weight"]
        return self.windows.contributions(weights[np.minimum(sequences, len(weights) - 1)])


class OnnxCnnRnn(OnnxNetwork):
    """`cnn-rnn`: the filters' responses begin a decoder without attention."""

    @staticmethod
    def build_graphs(config: Config, weights: Weights) -> dict[str, Graph]:
        """Return the graphs of the encoder and of the decoder."""
        start, step = build_decoder_graphs(weights, "decoder.")
        return {"encoder": build_windows_graph(config, weights), "set-start": start, "set-step": step}

    def read(self, ids: Array, lengths: Array, margins: Array | None = None) -> WindowedBatch:  # noqa: ARG002
        """Read documents and bind the decoder to them; there is no prior."""
        read = self.sessions.run("encoder", _pad_words(self.config, ids, lengths))
        decoder = OnnxDecoder(self.sessions, "set", read["start"], [], self.labels)
        windows = ResponseWindows(ids, lengths, read["summary"], read["places"], self.tensors)
        return WindowedBatch(decoder, self.max_labels, self.tensors, windows)


@dataclass(frozen=True)
class WindowedBatch(DecoderBatch):
    """A batch of documents with the windows that a label LSTM begins with."""

    windows: ResponseWindows

    def attributions(self, sequences: Array) -> Array:
        """Return for each label (B, S) what words in the windows that won add to it: integrated gradients."""
        return self.windows.contributions(find_slopes(self.windows, sequences))


def _pad_words(config: Config, ids: Array, lengths: Array) -> dict[str, Array]:
    """Return documents as graphs take them, at least as long as the widest filter."""
    missing = max(0, max(config.cnn.widths) - ids.shape[1])
    padded = np.pad(ids, ((0, 0), (0, missing)), constant_values=PAD)
    return {"ids": padded, "lengths": lengths.astype(np.int32)}
