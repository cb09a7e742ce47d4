"""A graph that grows by one operation at a time, and the layers that several graphs have.

Letters: B documents, R rows of a decoder, T places to attend to, V numbers per value, A attention units, H
hidden units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

OPSET, IR = 18, 9
"""Old enough for every ONNX Runtime that the extra `onnx` allows."""

FLOAT, INT64, INT32 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.INT32
Array = npt.NDArray[Any]


class GraphBuilder:
    """Collects operations; names of values are made up, but for those of inputs and outputs."""

    def __init__(self, weights: Mapping[str, Array]):
        self.weights = weights
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, shape: Sequence[str | int | None], kind: int = FLOAT) -> str:
        """Add an input of this shape; letters are sizes that differ from call to call."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Sequence[str | int | None], kind: int = FLOAT) -> None:
        """Make a value an output."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add numbers that the graph holds."""
        name = f"constant{len(self._constants)}"
        array = np.ascontiguousarray(values, dtype)
        self._constants.append(numpy_helper.from_array(array.reshape(np.shape(values)), name))
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
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, value: str, weights: Array, bias: Array | None = None) -> str:
        """Multiply with weights (outputs, inputs) as torch holds them, and add a bias."""
        product: str = self.add("MatMul", value, self.constant(weights.T))
        return product if bias is None else str(self.add("Add", product, self.constant(bias)))

    def concat(self, *values: str) -> str:
        """Put values side by side."""
        return values[0] if len(values) == 1 else str(self.add("Concat", *values, axis=-1))

    def build(self, name: str) -> Any:
        """Return the model, checked."""
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        onnx.checker.check_model(model)
        return model
