"""Whether the graphs of a model folder are those that an export writes.

A graph of a stranger can hold anything: loops without an end, values that grow with each operation, weights
that lie in other files. So each is compared with the graph that the model's settings and weights give, in all
but the numbers of its weights.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from seq2set.config.catalog import find_model
from seq2set.core.errors import ModelFolderError
from seq2set.core.names import load_named
from seq2set.inference.graphs.builder import Array
from seq2set.models.neural import list_network_weights
from seq2set.models.tagger import ModelState

_SPARE = 1 << 20
"""How many bytes a graph may have beside those of its weights in single precision"""

_WEIGHTS = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT8, onnx.TensorProto.UINT8)


def build_wanted_graphs(state: ModelState, *, int8: bool) -> dict[str, Any]:
    """Return the graphs that the settings and the weights of a model give, by name."""
    weights, hidden = list_network_weights(state), state.config.decoder.hidden
    _refuse_odd_weights(weights, hidden, len(state.labels))
    graphs = load_named(find_model(state.config.model).onnx).build_graphs(state.config, weights)
    return {name: quantize(graph) if int8 else graph for name, graph in graphs.items()}


def quantize(graph: Any) -> Any:
    """Make the weights of products and of the LSTM 8-bit numbers; activations follow as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
        onnx.save(graph, before)
        quantize_dynamic(before, after, ["MatMul", "LSTM", "Gather"], weight_type=QuantType.QInt8)
        return onnx.load(after)


def _refuse_odd_weights(weights: Mapping[str, Array], hidden: int, labels: int) -> None:
    """Refuse decoders of other sizes than the settings say, whose graphs could be far larger."""
    for name, values in weights.items():
        wanted: tuple[int, ...] = ()
        if name.endswith("decoder.embedding.weight"):
            wanted = (labels + 3,)
        elif ".cells." in name and name.endswith(".weight_ih"):
            wanted = (4 * hidden,)
        elif ".cells." in name and name.endswith(".weight_hh"):
            wanted = (4 * hidden, hidden)
        if values.shape[: len(wanted)] != wanted:
            raise ValueError(
                f"the tensor 'network/{name}' does not fit decoder.hidden = {hidden} and {labels} labels"
            )


def refuse_odd_graphs(folder: Path, files: Mapping[str, str], wanted: Mapping[str, Any]) -> None:
    """Refuse graphs other than those that are wanted, whatever the numbers of their weights are."""
    if files.keys() != wanted.keys():
        names = ", ".join(sorted(wanted))
        raise ValueError(f"the model has the graphs {names}, and not {len(files)} of other names")
    for name, file in files.items():
        if _strip_weights(_read_graph(folder / file, wanted[name].ByteSize())) != _strip_weights(
            wanted[name]
        ):
            raise ModelFolderError(
                f"{folder / file} is not the graph that an export of this model by this version writes; "
                f"run `seq2set export {folder} --to onnx --force`"
            )


def _read_graph(path: Path, wanted: int) -> Any:
    size = path.stat().st_size
    if size > wanted + _SPARE:
        raise ModelFolderError(f"{path} has {size:,} bytes, and an export of this model writes {wanted:,}")
    try:
        return onnx.load(path, load_external_data=False)
    except Exception as error:  # whatever the library for its format says
        raise ModelFolderError(f"{path} is no graph that can be opened: {error}") from error


def _strip_weights(model: Any) -> Any:
    """Return a copy of a graph without the numbers of its weights, but with sizes and places."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for field in ("producer_name", "producer_version", "doc_string"):
        copy.ClearField(field)
    for tensor in copy.graph.initializer:
        if tensor.data_type in _WEIGHTS:  # others say how far to fill up, and the like
            for field in ("raw_data", "float_data", "int32_data"):
                tensor.ClearField(field)
    return copy
