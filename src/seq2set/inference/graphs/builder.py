"""A graph that grows by one operation at a time, and the layers that several graphs have.

Letters: B documents, R rows of a decoder, T places to attend to, V numbers per value, A attention units, H
hidden units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seq2set.inference.graphs.messages import (
    FLOAT,
    Array,
    Shape,
    WeightPlace,
    write_input,
    write_model,
    write_node,
    write_output,
    write_tensor,
)


@dataclass(frozen=True)
class Graph:
    """A graph that is complete; what it is depends on its weights' shapes alone, and not on their numbers."""

    name: str
    nodes: list[bytes]
    constants: dict[str, Array]
    ends: list[bytes]

    @property
    def weights(self) -> dict[str, Array]:
        """Its weights by name; the numbers that are left say how far to fill up, and the like."""
        return {name: one for name, one in self.constants.items() if one.ndim and one.dtype == np.float32}

    def to_bytes(self, places: Mapping[str, WeightPlace] | None = None) -> bytes:
        """Return it as a file, with the places of all its weights, or with the weights themselves."""
        tensors = [write_tensor(name, one, (places or {}).get(name)) for name, one in self.constants.items()]
        return write_model(self.name, self.nodes, tensors, self.ends)


class GraphBuilder:
    """Collects operations; names of values are made up, but for those of inputs and outputs."""

    def __init__(self, weights: Mapping[str, Array]):
        self.weights = weights
        self._nodes: list[bytes] = []
        self._constants: dict[str, Array] = {}
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []

    def input(self, name: str, shape: Shape, kind: int = FLOAT) -> str:
        """Add an input of this shape."""
        self._inputs.append(write_input(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Shape, kind: int = FLOAT) -> None:
        """Make a value an output."""
        self._nodes.append(write_node("Identity", [value], [name], {}))
        self._outputs.append(write_output(name, kind, shape))

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add numbers that the graph holds."""
        name = f"constant{len(self._constants)}"
        self._constants[name] = np.asarray(values, dtype)
        return name

    def weight(self, name: str) -> str:
        """Add weights as they were saved."""
        return self.constant(self.weights[name])

    def axes(self, *numbers: int) -> str:
        """Add axes or sizes."""
        return self.constant(numbers, np.int64)

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add an operation and return its value, or all of several."""
        names = [f"value{len(self._nodes)}.{number}" for number in range(outputs)]
        self._nodes.append(write_node(kind, inputs, names, attributes))
        return names[0] if outputs == 1 else names

    def linear(self, value: str, weights: Array, bias: Array | None = None) -> str:
        """Multiply with weights (outputs, inputs) as torch holds them, and add a bias."""
        product: str = self.add("MatMul", value, self.constant(weights.T))
        return product if bias is None else str(self.add("Add", product, self.constant(bias)))

    def concat(self, *values: str) -> str:
        """Put values side by side."""
        return values[0] if len(values) == 1 else str(self.add("Concat", *values, axis=-1))

    def build(self, name: str) -> Graph:
        """Return the graph."""
        return Graph(name, self._nodes, self._constants, self._inputs + self._outputs)
