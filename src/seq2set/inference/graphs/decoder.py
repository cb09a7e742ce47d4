"""A decoder as two graphs, the equations of `nn.decoder`: its start, and one step for any rows.

The start makes s_0 and what attention shares between all steps; a step reads a symbol per row and scores the
labels. Searches stay outside. A row's memory is its document's, or with one document the only one.

Letters: B documents, R rows, T places to attend to, V numbers per value, A attention units, H hidden units,
E numbers per label vector, L labels, n layers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seq2set.inference.graphs.builder import Graph, GraphBuilder
from seq2set.inference.graphs.messages import INT64, Array


class DecoderGraphs(NamedTuple):
    """The two graphs of a decoder."""

    start: Graph
    step: Graph


class _SourceNodes(NamedTuple):
    number: int
    keys: str
    values: str
    missing: str


def build_decoder_graphs(weights: dict[str, Array], prefix: str) -> DecoderGraphs:
    """Return the graphs of the decoder whose weights have this prefix."""
    own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
    return DecoderGraphs(_build_start(own), _build_step(own))


def _count(weights: dict[str, Array], pattern: str) -> int:
    number = 0
    while pattern.format(number) in weights:
        number += 1
    return number


def _build_start(weights: dict[str, Array]) -> Graph:
    graph = GraphBuilder(weights)
    start = graph.input("start", ["B", None])
    hidden, cell = [], []
    for layer in range(_count(weights, "first.{}.weight")):
        both = graph.linear(start, weights[f"first.{layer}.weight"], weights[f"first.{layer}.bias"])
        state, kept = graph.add("Split", both, outputs=2, axis=-1, num_outputs=2)
        hidden.append(graph.add("Tanh", state))
        cell.append(kept)
    sources = []
    for number in range(_count(weights, "attentions.{}.v_a")):
        values = graph.input(f"values{number}", ["B", f"T{number}", None])
        keys = graph.linear(values, weights[f"attentions.{number}.U_a.weight"])
        missing = graph.input(f"missing{number}", ["B", f"T{number}"])
        sources.append(_SourceNodes(number, keys, values, missing))
        graph.output(f"keys{number}", keys, ["B", f"T{number}", None])
    _output_state(graph, hidden, cell, _attend(graph, sources, hidden[-1], []))
    return graph.build("start")


def _build_step(weights: dict[str, Array]) -> Graph:
    graph = GraphBuilder(weights)
    layers, numbers = _count(weights, "cells.{}.weight_ih"), range(_count(weights, "attentions.{}.v_a"))
    previous = graph.input("previous", ["R"], INT64)
    before, kept = graph.input("hidden", ["R", None]), graph.input("cell", ["R", None])
    contexts = [graph.input("contexts", ["R", None])] if numbers else []
    befores, kepts = (
        [part] if layers == 1 else graph.add("Split", part, outputs=layers, axis=-1, num_outputs=layers)
        for part in (before, kept)
    )
    hidden, cell = list[str](), list[str]()
    for layer in range(layers):
        w_x, w_h = weights[f"cells.{layer}.weight_ih"], weights[f"cells.{layer}.weight_hh"]
        bias = weights[f"cells.{layer}.bias_ih"] + weights[f"cells.{layer}.bias_hh"]
        if layer == 0:
            size = weights["embedding.weight"].shape[1]
            label = _read_label(graph, previous, w_x[:, :size], bias)
            known = graph.concat(*contexts, befores[0])
            gates = graph.linear(known, np.concatenate([w_x[:, size:], w_h], 1))
            gates = graph.add("Add", gates, label)
        else:
            known = graph.concat(hidden[-1], befores[layer])
            gates = graph.linear(known, np.concatenate([w_x, w_h], 1), bias)
        state, memory = _add_cell(graph, gates, kepts[layer])
        hidden.append(state)
        cell.append(memory)
    sources = [
        _SourceNodes(
            number,
            graph.input(f"keys{number}", [f"B{number}", f"T{number}", None]),
            graph.input(f"values{number}", [f"B{number}", f"T{number}", None]),
            graph.input(f"missing{number}", [f"B{number}", f"T{number}"]),
        )
        for number in numbers
    ]
    attention: list[str] = []
    read = _attend(graph, sources, hidden[-1], attention)
    _output_state(graph, hidden, cell, read)
    mixed = graph.add(
        "Tanh", graph.linear(graph.concat(hidden[-1], *read), weights["readout.weight"])
    )  # eq. 5
    graph.output("logits", graph.linear(mixed, weights["W_o.weight"]), ["R", None])
    graph.output("output", hidden[-1], ["R", None])
    if attention:
        graph.output("attention", attention[0], ["R", "T0"])
    return graph.build("step")


def _read_label(graph: GraphBuilder, previous: str, w_x: Array, bias: Array) -> str:
    """Return what the symbols (R,) add to the first layer's gates (R, 4H)."""
    table = graph.weights["embedding.weight"]  # (L + 3, E)
    if "feedback.W_1.weight" not in graph.weights:
        return str(graph.add("Gather", graph.constant(table @ w_x.T + bias), previous))
    # The global embedding: g = e + sigmoid(W_1 e + W_2 a) (a - e).
    vectors = graph.constant(table)
    label = graph.add("Gather", vectors, previous)
    mean = graph.add("MatMul", graph.input("likely", ["R", None]), vectors)  # (R, L + 3) x (L + 3, E)
    both = graph.concat(label, mean)
    mixing = np.concatenate([graph.weights["feedback.W_1.weight"], graph.weights["feedback.W_2.weight"]], 1)
    gate = graph.add("Sigmoid", graph.linear(both, mixing))
    mixed = graph.add("Add", label, graph.add("Mul", gate, graph.add("Sub", mean, label)))
    return graph.linear(mixed, w_x, bias)


class _LstmState(NamedTuple):
    hidden: str
    cell: str


def _add_cell(graph: GraphBuilder, gates: str, cell: str) -> _LstmState:
    """Add an LSTM cell; torch has the gates in the order i, f, g, o."""
    i, f, g, o = graph.add("Split", gates, outputs=4, axis=-1, num_outputs=4)
    kept = graph.add("Mul", graph.add("Sigmoid", f), cell)
    new = graph.add("Mul", graph.add("Sigmoid", i), graph.add("Tanh", g))
    cell = graph.add("Add", kept, new)
    return _LstmState(graph.add("Mul", graph.add("Sigmoid", o), graph.add("Tanh", cell)), cell)


def _attend(graph: GraphBuilder, sources: list[_SourceNodes], state: str, weights: list[str]) -> list[str]:
    """Return the contexts (R, V) that a state (R, H) reads, and collect the weights (R, T) behind them."""
    contexts = []
    for number, keys, values, missing in sources:
        query = graph.linear(state, graph.weights[f"attentions.{number}.W_a.weight"])  # (R, A)
        sums = graph.add("Tanh", graph.add("Add", graph.add("Unsqueeze", query, graph.axes(1)), keys))
        v = graph.constant(graph.weights[f"attentions.{number}.v_a"][:, None])
        energies = graph.add("Squeeze", graph.add("MatMul", sums, v), graph.axes(2))  # eq. 1: (R, T)
        weights.append(graph.add("Softmax", graph.add("Add", energies, missing), axis=-1))  # eq. 2
        read = graph.add("MatMul", graph.add("Unsqueeze", weights[-1], graph.axes(1)), values)  # eq. 3
        contexts.append(graph.add("Squeeze", read, graph.axes(1)))
    return contexts


def _output_state(graph: GraphBuilder, hidden: list[str], cell: list[str], contexts: list[str]) -> None:
    """Make the layers' states, side by side, and the sources' contexts outputs."""
    graph.output("next_hidden", graph.concat(*hidden), ["R", None])
    graph.output("next_cell", graph.concat(*cell), ["R", None])
    if contexts:
        graph.output("next_contexts", graph.concat(*contexts), ["R", None])
