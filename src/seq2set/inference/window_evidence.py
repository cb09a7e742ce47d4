"""Evidence of filters without torch: what each word of the windows that won adds to a label.

The windows' part equals `nn.encoders.convolution`. For `cnn-rnn`, whose labels come from a recurrent network,
the slopes of the log-probabilities are worked out here by hand, backwards through its steps; torch's own
gradients give the same.

Letters: B documents, T words, E numbers per word vector, F filters, f of one width, w words wide, S labels of
a sequence, L labels, H hidden units.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.nn.decoding.prefixes import Symbols, log_softmax

Array = npt.NDArray[Any]

_KERNEL = re.compile(r"encoder\.kernels\.\d+\.weight")

POINTS = 8
"""At how many points of the way from no response to what they are a slope is taken."""


@dataclass(frozen=True)
class ResponseWindows:
    """Documents as filters read them: the windows that gave the largest responses."""

    ids: Array
    """(B, T)"""
    lengths: Array
    """(B,)"""
    summary: Array
    """(B, F) the largest response of each filter, at least 0"""
    places: Array
    """(B, F) the first word of the window that gave it"""
    tensors: Callable[[], Mapping[str, Array]]
    """The network's weights"""

    def contributions(self, slopes: Array) -> Array:
        """Return what each word adds (B, S, T) to scores with slopes (B, S, F) in the summary.

        A response is a sum over the words of its window, so that nothing but the biases is missing.
        """
        weights = self.tensors()
        kernels = [value for name, value in weights.items() if _KERNEL.fullmatch(name)]
        widest = max(kernel.shape[-1] for kernel in kernels)
        vectors = np.pad(weights["encoder.embedding.weight"][self.ids], ((0, 0), (0, widest), (0, 0)))
        added = np.zeros((*slopes.shape[:2], vectors.shape[1]), np.float32)
        active = np.where(self.summary[:, None] > 0, slopes, 0)  # relu passes nothing on below 0
        rows, labels = np.arange(len(vectors))[:, None], np.arange(slopes.shape[1])[:, None]
        ends = np.cumsum([len(kernel) for kernel in kernels])
        for kernel, end in zip(kernels, ends, strict=True):
            own = slice(end - len(kernel), end)
            for offset in range(kernel.shape[-1]):
                place = self.places[:, own] + offset  # (B, f)
                said = np.einsum("bfe,fe->bf", vectors[rows, place], kernel[:, :, offset])
                np.add.at(added, (rows[:, None], labels, place[:, None]), active[:, :, own] * said[:, None])
        return added[..., : self.ids.shape[1]]


def find_slopes(windows: ResponseWindows, sequences: Array) -> Array:
    """Return the mean slope (B, S, F) of each label's log-probability on the way to the summary."""
    weights = {
        name.removeprefix("decoder."): value
        for name, value in windows.tensors().items()
        if name.startswith("decoder.")
    }
    steps = [(point + 0.5) / POINTS for point in range(POINTS)]
    machine = _LabelLstm(weights)
    slopes = [machine.find_slopes(np.float32(step) * windows.summary, sequences) for step in steps]
    return np.asarray(np.mean(slopes, 0))


class _LayerStep(NamedTuple):
    """What a layer computed in one step, (B, H) each."""

    gates: tuple[Array, Array, Array, Array]
    before: Array
    tanh: Array


class _LabelStep(NamedTuple):
    layers: list[_LayerStep]
    mixed: Array
    """(B, H) what the output layer reads"""
    likely: Array
    """(B, L + 1)"""
    mixing: _Mixing | None


class _Mixing(NamedTuple):
    """A global embedding's gate, and how far the mean is from the label, (B, E) each."""

    gate: Array
    apart: Array


class _LabelLstm:
    """The decoder without sources, forwards along given labels and backwards to its features."""

    def __init__(self, weights: Mapping[str, Array]):
        self.weights = weights
        self.layers = sum(name.endswith("weight_hh") for name in weights)
        self.symbols = Symbols(len(weights["W_o.weight"]) - 1)

    def find_slopes(self, features: Array, sequences: Array) -> Array:
        """Return the slopes (B, S, F) of the labels' log-probabilities in features (B, F)."""
        labels = np.minimum(sequences, self.symbols.eos)  # (B, S)
        centred = features - features.mean(1, keepdims=True)
        hidden, cell = [], []
        for layer in range(self.layers):
            both = centred @ self.weights[f"first.{layer}.weight"].T + self.weights[f"first.{layer}.bias"]
            state, kept = np.split(both, 2, axis=1)
            hidden.append(np.tanh(state))
            cell.append(kept)
        to_hidden, to_cell = self._go_back(self._go_along(list(hidden), cell, labels), labels)
        slopes: Array = np.zeros(())
        for layer, first in enumerate(hidden):
            both = np.concatenate([to_hidden[layer] * (1 - first**2), to_cell[layer]], -1)  # (S, B, 2H)
            slopes = slopes + both @ self.weights[f"first.{layer}.weight"]
        return np.swapaxes(slopes - slopes.mean(-1, keepdims=True), 0, 1)

    def _go_along(self, hidden: list[Array], cell: list[Array], labels: Array) -> list[_LabelStep]:
        emitted = np.zeros((len(labels), self.symbols.outputs), bool)
        previous, steps = np.full(len(labels), self.symbols.bos), list[_LabelStep]()
        for symbols in labels.T:
            below, mixing = self._read_label(previous, steps)
            layers = []
            for number in range(self.layers):
                layer = self._run_layer(number, below, hidden[number], cell[number])
                _, _, _, o = layer.gates
                below = hidden[number] = o * layer.tanh
                cell[number] = layer.gates[1] * layer.before + layer.gates[0] * layer.gates[2]
                layers.append(layer)
            mixed = np.tanh(below @ self.weights["readout.weight"].T)
            logits = np.where(emitted, -np.inf, mixed @ self.weights["W_o.weight"].T)
            steps.append(_LabelStep(layers, mixed, np.exp(log_softmax(logits)), mixing))
            emitted[np.arange(len(labels)), symbols] = True
            emitted[:, self.symbols.eos] = False
            previous = symbols
        return steps

    def _read_label(self, previous: Array, steps: list[_LabelStep]) -> tuple[Array, _Mixing | None]:
        """Return what the first layer reads of the symbols (B,): see `nn.decoder.GlobalEmbedding`."""
        table, weights = self.weights["embedding.weight"], self.weights
        label = table[previous]
        if "feedback.W_1.weight" not in weights or not steps:
            return label, None
        mean = steps[-1].likely @ table[: self.symbols.outputs]
        gate = _squash(label @ weights["feedback.W_1.weight"].T + mean @ weights["feedback.W_2.weight"].T)
        return label + gate * (mean - label), _Mixing(gate, mean - label)

    def _run_layer(self, number: int, below: Array, hidden: Array, cell: Array) -> _LayerStep:
        w_x, w_h, b_x, b_h = self._take_unit(number)
        i, f, g, o = np.split(below @ w_x.T + hidden @ w_h.T + b_x + b_h, 4, axis=1)
        i, f, g, o = _squash(i), _squash(f), np.tanh(g), _squash(o)
        return _LayerStep((i, f, g, o), cell, np.tanh(f * cell + i * g))

    def _take_unit(self, number: int) -> tuple[Array, Array, Array, Array]:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        w_x, w_h, b_x, b_h = (self.weights[f"cells.{number}.{name}"] for name in names)
        return w_x, w_h, b_x, b_h

    def _go_back(self, steps: list[_LabelStep], labels: Array) -> tuple[list[Array], list[Array]]:
        """Return the slopes in each layer's first state and cell, (S, B, H) each: one for each label."""
        size, batch = len(steps), len(labels)
        width = self.weights["readout.weight"].shape[1]
        to_hidden, to_cell = (
            [np.zeros((size, batch, width), np.float32) for _ in range(self.layers)] for _ in range(2)
        )
        to_logits = np.zeros((size, batch, self.symbols.outputs), np.float32)
        for number in reversed(range(size)):
            step = steps[number]
            to_logits[number] -= step.likely
            to_logits[number, np.arange(batch), labels[:, number]] += 1
            to_mixed = (to_logits @ self.weights["W_o.weight"]) * (1 - step.mixed**2)
            to_hidden[-1] = to_hidden[-1] + to_mixed @ self.weights["readout.weight"]
            for layer in reversed(range(self.layers)):
                to_below, to_hidden[layer], to_cell[layer] = self._go_back_layer(
                    layer, step.layers[layer], to_hidden[layer], to_cell[layer]
                )
                if layer:
                    to_hidden[layer - 1] = to_hidden[layer - 1] + to_below
            to_logits = self._go_back_label(step, steps[number - 1].likely, to_below)
        return to_hidden, to_cell

    def _go_back_layer(
        self, number: int, layer: _LayerStep, to_hidden: Array, to_cell: Array
    ) -> tuple[Array, Array, Array]:
        w_x, w_h, _, _ = self._take_unit(number)
        i, f, g, o = layer.gates
        to_cell = to_cell + to_hidden * o * (1 - layer.tanh**2)
        to_gates = (
            to_cell * g * i * (1 - i),
            to_cell * layer.before * f * (1 - f),
            to_cell * i * (1 - g**2),
            to_hidden * layer.tanh * o * (1 - o),
        )
        gates = np.concatenate(to_gates, -1)
        return gates @ w_x, gates @ w_h, to_cell * f

    def _go_back_label(self, step: _LabelStep, likely: Array, to_label: Array) -> Array:
        """Return the slopes (S, B, L + 1) in the logits before, which a global embedding reads."""
        if step.mixing is None:
            return np.zeros((*to_label.shape[:2], self.symbols.outputs), np.float32)
        gate, apart = step.mixing
        to_mean = (
            to_label * gate + (to_label * apart * gate * (1 - gate)) @ self.weights["feedback.W_2.weight"]
        )
        to_likely = to_mean @ self.weights["embedding.weight"][: self.symbols.outputs].T
        return np.asarray(likely * (to_likely - (to_likely * likely).sum(-1, keepdims=True)))


def _squash(numbers: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(numbers, -80, 80))))
