"""What runs a model: torch, or ONNX Runtime on the graphs that `seq2set export` put into its folder.

Linear models are plain numpy on either. The graphs are files of the model folder like any other, listed and
checksummed; `onnx.json` names them, and the weights that they were made of.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from seq2set.config.catalog import find_model
from seq2set.core.errors import MissingExtraError, ModelFolderError
from seq2set.core.names import load_named
from seq2set.models.tagger import ModelState, Tagger, get_tagger_class

GRAPHS = "onnx.json"
GRAPH_FORMAT = 1
"""Raised when graphs written from now on take other inputs or give other outputs."""

TENSORS = "model.safetensors"

_TYPES = {
    "F64": "f8",
    "F32": "f4",
    "F16": "f2",
    "I64": "i8",
    "I32": "i4",
    "I16": "i2",
    "U8": "u1",
    "BOOL": "?",
}


def choose_runtime(name: str, model: str, files: Mapping[str, Any]) -> str:
    """Return the runtime for a model with these files: what is asked for, or what is there."""
    if name != "auto" or not find_model(model).network:
        return name
    return "torch" if GRAPHS not in files or is_installed("torch") else "onnx"


def is_installed(package: str) -> bool:
    """Say whether a package can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


def read_tensors(folder: Path, model: str, runtime: str) -> Mapping[str, npt.NDArray[Any]]:
    """Return a model's numbers; torch gets a copy, and what only reads them maps the file into memory."""
    path = folder / TENSORS
    return load_file(path) if runtime == "torch" and find_model(model).network else map_tensors(path)


def map_tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Map a safetensors file into memory: only what is read takes any."""
    with path.open("rb") as stream:
        whole = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(whole[:8], "little")
    tensors = {}
    for name, about in json.loads(whole[8:start]).items():
        if name == "__metadata__":
            continue
        first, last = about["data_offsets"]
        kind = np.dtype("<" + _TYPES[about["dtype"]])
        count, offset = (last - first) // kind.itemsize, start + first
        tensors[name] = np.frombuffer(whole, kind, count, offset if count else 0).reshape(about["shape"])
    return tensors


def restore_tagger(
    state: ModelState, folder: Path, files: Mapping[str, Any], runtime: str, threads: int
) -> Tagger:
    """Restore a model on a runtime."""
    row = find_model(state.config.model)
    if runtime != "onnx" or not row.network:
        if row.network and not is_installed("torch"):
            raise MissingExtraError("torch", "train", f", or `seq2set export {folder} --to onnx` where it is")
        return get_tagger_class(state.config.model).from_state(state)
    if GRAPHS not in files:
        raise ModelFolderError(f"{folder} has no ONNX graphs; run `seq2set export {folder} --to onnx` first")
    described = json.loads((folder / GRAPHS).read_text(encoding="utf-8"))
    _refuse_foreign(folder, described, files)
    return restore_onnx(state, folder, described["graphs"], threads)


def _refuse_foreign(folder: Path, described: Mapping[str, Any], files: Mapping[str, Any]) -> None:
    again = f"run `seq2set export {folder} --to onnx --force`"
    if described["format"] != GRAPH_FORMAT:
        raise ModelFolderError(
            f"{folder} has ONNX graphs of format {described['format']}, made by seq2set "
            f"{described['seq2set']}; this version runs format {GRAPH_FORMAT}: {again}"
        )
    if described["weights"] != files[TENSORS]["sha256"]:
        raise ModelFolderError(f"{folder} has ONNX graphs of other weights than {TENSORS} holds: {again}")


def restore_onnx(state: ModelState, folder: Path, graphs: Mapping[str, str], threads: int = 1) -> Tagger:
    """Restore a network on ONNX Runtime, from graphs in a folder."""
    from seq2set.inference.onnx_decoder import Sessions
    from seq2set.models.neural import NeuralTagger, network_weights

    network = load_named(find_model(state.config.model).onnx)(
        Sessions(folder, graphs, threads),
        state.config,
        len(state.labels),
        state.fitted["max_labels"],
        lambda: network_weights(state),
    )
    return NeuralTagger.from_network(state, network)
