"""Graphs whose weights are 8-bit numbers, made and known again by the library for the format.

What the library writes is not ours to foretell byte by byte. So graphs are read and compared in all but the
numbers of their weights, which they have inside.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from seq2set.core.errors import ModelFolderError
from seq2set.inference.graphs.check import (
    Graphs,
    build_graphs,
    make_foreign_error,
    name_graph_files,
    refuse_other_names,
)
from seq2set.models.neural import list_network_weights
from seq2set.models.tagger import ModelState

_SPARE = 1 << 20
"""How many bytes a graph may have beside those of its weights in single precision"""

_WEIGHTS = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT8, onnx.TensorProto.UINT8)


def write_graph_files(folder: Path, graphs: Graphs) -> None:
    """Write graphs with 8-bit weights."""
    for name, file in name_graph_files(graphs).items():
        onnx.save(_quantize(graphs[name].to_bytes()), folder / file)


def refuse_odd_graphs(state: ModelState, folder: Path, files: Mapping[str, str]) -> None:
    """Refuse graphs other than those that an export of this model would have written."""
    wanted = build_graphs(state, list_network_weights(state))
    refuse_other_names(files, wanted)
    for name, file in files.items():
        graph = _quantize(wanted[name].to_bytes())
        if _strip_weights(_read_graph(folder / file, graph.ByteSize())) != _strip_weights(graph):
            raise make_foreign_error(folder / file)


def _quantize(graph: bytes) -> Any:
    """Make the weights of products and of the LSTM 8-bit numbers; activations follow as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
        before.write_bytes(graph)
        quantize_dynamic(before, after, ["MatMul", "LSTM", "Gather"], weight_type=QuantType.QInt8)
        return onnx.load(after)


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
