"""The files of graphs, and whether those of a model folder are the ones that an export writes.

A graph of a stranger can hold anything: loops without an end, values that grow with each operation, weights
that lie in other files. So each file is compared, byte by byte, with the graph that the settings and the
shapes of the weights give. The weights themselves lie in one file beside the graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from seq2set.config.catalog import find_model
from seq2set.core.errors import ModelFolderError
from seq2set.core.names import load_named
from seq2set.core.tensor_files import TensorForm, check_forms, read_header
from seq2set.inference.graphs.builder import Graph
from seq2set.inference.graphs.messages import Array, WeightPlace
from seq2set.models.neural import list_network_weights
from seq2set.models.tagger import ModelState

WEIGHTS = "graphs.safetensors"
"""The weights of all graphs of a model folder, but for those of 8 bits, which have them inside"""

Graphs = Mapping[str, Graph]


def name_graph_files(names: Iterable[str]) -> dict[str, str]:
    """Return the file of each graph."""
    return {name: f"{name}.onnx" for name in names}


def write_graph_files(folder: Path, graphs: Graphs) -> None:
    """Write graphs and their weights."""
    weights = {
        f"{name}/{key}": np.ascontiguousarray(value)
        for name, graph in graphs.items()
        for key, value in graph.weights.items()
    }
    save_file(weights, folder / WEIGHTS)
    places = _find_places(folder, graphs)
    for name, file in name_graph_files(graphs).items():
        (folder / file).write_bytes(graphs[name].to_bytes(places[name]))


def refuse_odd_graphs(state: ModelState, folder: Path, files: Mapping[str, str]) -> None:
    """Refuse graphs other than those that an export of this model would have written."""
    weights = {name: _forget_numbers(values) for name, values in list_network_weights(state).items()}
    wanted = build_graphs(state, weights)
    refuse_other_names(files, wanted)
    places = _find_places(folder, wanted)
    for name, file in files.items():
        path, content = folder / file, wanted[name].to_bytes(places[name])
        if path.stat().st_size != len(content) or path.read_bytes() != content:
            raise make_foreign_error(path)


def build_graphs(state: ModelState, weights: Mapping[str, Array]) -> Graphs:
    """Build the graphs that the settings and the weights of a model give, by name."""
    _refuse_odd_weights(weights, state.config.decoder.hidden, len(state.labels))
    graphs: Graphs = load_named(find_model(state.config.model).onnx).build_graphs(state.config, weights)
    return graphs


def refuse_other_names(files: Mapping[str, str], wanted: Graphs) -> None:
    """Refuse to open as many graphs as a stranger likes."""
    if files.keys() != wanted.keys():
        names = ", ".join(sorted(wanted))
        raise ValueError(f"the model has the graphs {names}, and not {len(files)} of other names")


def make_foreign_error(path: Path) -> ModelFolderError:
    """Return what to say of a file that is not the one that is wanted."""
    return ModelFolderError(
        f"{path} is not the graph that an export of this model by this version writes; "
        f"{_export_again(path.parent)}"
    )


def _export_again(folder: Path) -> str:
    return f"run `seq2set export {folder} --to onnx --force`"


def _forget_numbers(values: Array) -> Array:
    """Return an array of the same shape that takes no memory."""
    return np.broadcast_to(np.zeros((), values.dtype), values.shape)


def _find_places(folder: Path, graphs: Graphs) -> dict[str, dict[str, WeightPlace]]:
    """Return where each graph's weights lie, which have the names and shapes of the graphs and no others."""
    if not (folder / WEIGHTS).is_file():
        raise ModelFolderError(f"{folder / WEIGHTS} is missing; {_export_again(folder)}")
    entries = read_header(folder / WEIGHTS)
    shapes = {
        f"{name}/{key}": value.shape for name, graph in graphs.items() for key, value in graph.weights.items()
    }
    check_forms(entries, {whole: TensorForm("F32", shape) for whole, shape in shapes.items()}, {})
    places: dict[str, dict[str, WeightPlace]] = {name: {} for name in graphs}
    for whole in shapes:
        name, _, key = whole.partition("/")
        places[name][key] = WeightPlace(WEIGHTS, entries[whole].start, entries[whole].end)
    return places


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
