"""What runs a model: torch, or ONNX Runtime on the graphs that `seq2set export` put into its folder.

Linear models are plain numpy on either. The graphs are files of the model folder like any other, listed and
checksummed; `onnx.json` names them, and the weights that they were made of.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from seq2set.config.catalog import find_model
from seq2set.core.errors import MissingExtraError, ModelFolderError, import_extra
from seq2set.core.names import is_installed as is_installed
from seq2set.core.names import load_named
from seq2set.core.tensor_files import (
    TensorRows,
    check_forms,
    copy_tensors,
    map_tensors,
    read_header,
    refuse_not_finite,
)
from seq2set.inference.manifest import TENSORS as TENSORS
from seq2set.inference.manifest import read_json_file
from seq2set.models.neural import NETWORK
from seq2set.models.prior import PRIOR_WEIGHTS
from seq2set.models.tagger import ModelState, Outline, Tagger, get_tagger_class, list_forms

GRAPHS = "onnx.json"
GRAPH_FORMAT = 2
"""Raised when graphs written from now on take other inputs or give other outputs."""


def choose_runtime(name: str, model: str, files: Mapping[str, Any]) -> str:
    """Return the runtime for a model with these files: what is asked for, or what is there."""
    if name != "auto" or not find_model(model).network:
        return name
    return "torch" if GRAPHS not in files or is_installed("torch") else "onnx"


def read_tensors(folder: Path, outline: Outline, runtime: str) -> Mapping[str, npt.NDArray[Any]]:
    """Return a model's numbers; torch gets copies, and what only reads them maps the file into memory.

    They have the names and shapes that follow from the settings, which is known before any is read.
    """
    path, model = folder / TENSORS, outline.config.model
    network = find_model(model).network
    forms, entries = list_forms(outline, runtime), read_header(path)
    if network and (runtime == "onnx" or not is_installed("torch")):  # the graphs have their own
        entries = {name: entry for name, entry in entries.items() if name in (forms or ())}
    if forms is not None:
        check_forms(entries, forms, {"L": outline.labels})
    refuse_not_finite(path, entries)
    tensors: dict[str, Any] = map_tensors(path)
    if network and PRIOR_WEIGHTS in entries and hasattr(os, "pread"):
        tensors[PRIOR_WEIGHTS] = TensorRows(path, entries[PRIOR_WEIGHTS])
    if network and runtime == "torch":
        own = {name: entry for name, entry in entries.items() if name.startswith(NETWORK)}
        tensors |= copy_tensors(path, own)
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
    described = read_json_file(folder, GRAPHS)
    _refuse_foreign(folder, described, files)
    _refuse_odd_graphs(state, folder, described)
    return restore_onnx(state, folder, described["graphs"], threads)


def _refuse_foreign(folder: Path, described: Mapping[str, Any], files: Mapping[str, Any]) -> None:
    again = f"run `seq2set export {folder} --to onnx --force`"
    if not isinstance(described, dict) or not isinstance(described.get("graphs"), dict):
        raise ModelFolderError(f"{folder / GRAPHS} names no graphs: {again}")
    for file in described["graphs"].values():
        if file not in files:
            raise ModelFolderError(
                f"{folder / GRAPHS} names '{file}', which is no file of the folder: {again}"
            )
    if described["format"] != GRAPH_FORMAT:
        raise ModelFolderError(
            f"{folder} has ONNX graphs of format {described['format']}, made by seq2set "
            f"{described['seq2set']}; this version runs format {GRAPH_FORMAT}: {again}"
        )
    if described["weights"] != files[TENSORS]["sha256"]:
        raise ModelFolderError(f"{folder} has ONNX graphs of other weights than {TENSORS} holds: {again}")


def _refuse_odd_graphs(state: ModelState, folder: Path, described: Mapping[str, Any]) -> None:
    """Refuse graphs of strangers that an export of this model would not have written."""
    if described.get("int8") is True:
        import_extra("onnx", "onnx")
        from seq2set.inference.graphs.eight_bits import refuse_odd_graphs
    else:
        from seq2set.inference.graphs.check import refuse_odd_graphs
    refuse_odd_graphs(state, folder, described["graphs"])


def restore_onnx(state: ModelState, folder: Path, graphs: Mapping[str, str], threads: int = 1) -> Tagger:
    """Restore a network on ONNX Runtime, from graphs in a folder."""
    from seq2set.inference.onnx_decoder import Sessions
    from seq2set.models.neural import NeuralTagger, list_network_weights

    network = load_named(find_model(state.config.model).onnx)(
        Sessions(folder, graphs, threads),
        state.config,
        len(state.labels),
        state.fitted["max_labels"],
        lambda: list_network_weights(state),
    )
    return NeuralTagger.from_network(state, network)
