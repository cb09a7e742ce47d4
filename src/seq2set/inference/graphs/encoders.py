"""The encoders as graphs, each named by its row in the catalog: word numbers in, states and summary out.

Letters: B documents, T words, E numbers per word vector, H hidden units per direction, F filters of all
widths, f of one width, N windows, L labels, P numbers of the prior that the first state reads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seq2set.config import Config
from seq2set.config.catalog import ENCODERS, find_model
from seq2set.core.errors import InputError
from seq2set.core.names import load_named
from seq2set.inference.graphs.builder import Graph, GraphBuilder
from seq2set.inference.graphs.messages import INT32, INT64, Array


class EncoderValues(NamedTuple):
    """What a graph has of an encoder's outputs."""

    states: str
    """(B, T, E)"""
    summary: str
    """(B, F)"""
    places: str = ""
    """(B, F) the first word of the window that each filter responds to the most, where there are filters"""


def build_encoder_graph(config: Config, weights: dict[str, Array], *, prior: bool) -> Graph:
    """Return the graph that reads documents: states, what decoders begin with, and a prior's bias."""
    graph = GraphBuilder(weights)
    encoded = add_encoder(graph, config)
    start = encoded.summary
    if prior:
        margins = graph.input("margins", ["B", None])
        view = graph.linear(margins, weights["prior.view.weight"], weights["prior.view.bias"])
        start = graph.concat(start, graph.add("Tanh", view))
        scaled = graph.add("Mul", margins, graph.weight("prior.scale"))
        wider = graph.add("Pad", scaled, graph.axes(0, 0, 0, 1))
        graph.output("bias", graph.add("Add", wider, graph.weight("prior.offset")), ["B", None])
    graph.output("states", encoded.states, ["B", "T", None])
    graph.output("start", start, ["B", None])
    return graph.build("encoder")


def add_encoder(graph: GraphBuilder, config: Config) -> EncoderValues:
    """Add the encoder of the settings to a graph."""
    encoded: EncoderValues = load_named(find_graph(config))(graph)
    return encoded


def find_graph(config: Config) -> str:
    """Return the name of what adds the encoder of the settings to a graph, or refuse one without."""
    kind = find_model(config.model).encoder or config.encoder.kind
    if not ENCODERS[kind].graph:
        raise InputError(
            f"encoder.kind is '{kind}', which has no ONNX graph; its row in the catalog names none"
        )
    return ENCODERS[kind].graph


def add_bilstm(graph: GraphBuilder) -> EncoderValues:
    """Add word vectors and the bidirectional LSTM; ONNX has the gates in the order i, o, f, c."""
    ids, lengths = graph.input("ids", ["B", "T"], INT64), graph.input("lengths", ["B"], INT32)
    words = graph.add("Transpose", ids, perm=[1, 0])
    states = graph.add("Gather", graph.weight("encoder.embedding.weight"), words)  # (T, B, E)
    layer = 0
    while f"encoder.bilstm.lstm.weight_ih_l{layer}" in graph.weights:
        parts = [_stack_directions(graph, name, layer) for name in ("weight_ih", "weight_hh", "bias")]
        size = parts[1].shape[-1]
        inputs = [states, *map(graph.constant, parts), lengths]
        states, last = graph.add("LSTM", *inputs, outputs=2, hidden_size=size, direction="bidirectional")
        states = graph.add("Transpose", states, perm=[0, 2, 1, 3])  # (T, 2, B, H) -> (T, B, 2, H)
        states = graph.add("Reshape", states, graph.axes(0, 0, 2 * size))
        layer += 1
    summary = graph.add("Reshape", graph.add("Transpose", last, perm=[1, 0, 2]), graph.axes(0, 2 * size))
    return EncoderValues(graph.add("Transpose", states, perm=[1, 0, 2]), summary)


def _stack_directions(graph: GraphBuilder, name: str, layer: int) -> Array:
    """Return both directions' weights of a layer; ONNX has two biases in one row."""
    names = ("bias_ih", "bias_hh") if name == "bias" else (name,)
    both = []
    for way in ("", "_reverse"):
        parts = [graph.weights[f"encoder.bilstm.lstm.{one}_l{layer}{way}"] for one in names]
        both.append(np.concatenate([_reorder_gates(part) for part in parts]))
    return np.stack(both)


def _reorder_gates(weights: Array) -> Array:
    i, f, g, o = np.split(weights, 4)
    return np.concatenate([i, o, f, g])


def add_convolution(graph: GraphBuilder) -> EncoderValues:
    """Add word vectors and filters; documents are padded to at least the widest filter."""
    ids, lengths = graph.input("ids", ["B", "T"], INT64), graph.input("lengths", ["B"], INT32)
    vectors = graph.add("Gather", graph.weight("encoder.embedding.weight"), ids)  # (B, T, E)
    vectors = graph.add("Transpose", vectors, perm=[0, 2, 1])
    states, summary, places, number = [], [], [], 0
    while (name := f"encoder.kernels.{number}.weight") in graph.weights:
        width = graph.weights[name].shape[-1]
        bias = graph.weight(f"encoder.kernels.{number}.bias")
        responses = graph.add("Conv", vectors, graph.weight(name), bias)  # (B, f, N)
        responses = graph.add(
            "Where", _find_outside(graph, responses, lengths, width), _add_lowest(graph), responses
        )
        positive = graph.add("Relu", responses)
        states.append(graph.add("Pad", positive, graph.axes(0, 0, 0, 0, 0, width - 1)))  # (B, f, T)
        summary.append(graph.add("ReduceMax", positive, graph.axes(2), keepdims=0))
        places.append(graph.add("ArgMax", responses, axis=2, keepdims=0))
        number += 1
    whole = graph.add("Transpose", graph.add("Concat", *states, axis=1), perm=[0, 2, 1])  # (B, T, F)
    return EncoderValues(whole, graph.concat(*summary), graph.concat(*places))


def _add_lowest(graph: GraphBuilder) -> str:
    return graph.constant(-np.inf)


def _find_outside(graph: GraphBuilder, responses: str, lengths: str, width: int) -> str:
    """Return (B, 1, N), true for windows that do not lie within their text, but for a short text's first."""
    shape = graph.add("Shape", responses, start=2, end=3)
    count = graph.add("Squeeze", graph.add("Cast", shape, to=INT32), graph.axes(0))
    zero, one = graph.constant(0, np.int32), graph.constant(1, np.int32)
    first = graph.add("Range", zero, count, one)  # (N,)
    last = graph.add("Max", graph.add("Sub", lengths, graph.constant(width, np.int32)), zero)
    return str(graph.add("Greater", first, graph.add("Unsqueeze", last, graph.axes(1, 2))))


def build_cnn_graph(config: Config, weights: dict[str, Array]) -> Graph:
    """Return the graph of `cnn`: each label's probability, and which windows it comes from."""
    graph = GraphBuilder(weights)
    encoded = add_encoder(graph, config)
    logits = graph.linear(encoded.summary, weights["output.weight"], weights["output.bias"])
    graph.output("scores", graph.add("Sigmoid", logits), ["B", None])
    _output_windows(graph, encoded)
    return graph.build("cnn")


def build_windows_graph(config: Config, weights: dict[str, Array]) -> Graph:
    """Return the graph of the encoder of `cnn-rnn`: what the decoder begins with, and from which windows."""
    graph = GraphBuilder(weights)
    encoded = add_encoder(graph, config)
    mean = graph.add("ReduceMean", encoded.summary, graph.axes(1))
    graph.output("start", graph.add("Sub", encoded.summary, mean), ["B", None])
    _output_windows(graph, encoded)
    return graph.build("encoder")


def _output_windows(graph: GraphBuilder, encoded: EncoderValues) -> None:
    graph.output("summary", encoded.summary, ["B", None])
    graph.output("places", encoded.places, ["B", None], INT64)
