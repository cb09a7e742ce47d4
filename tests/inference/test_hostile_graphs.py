"""ONNX graphs that somebody put into a model folder to hurt: only those that an export writes are run.

Every folder here is consistent: manifest and `onnx.json` have the right checksums of what is there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file

from seq2set.core.errors import ModelFolderError, WorkError
from seq2set.core.files import compute_sha256
from seq2set.inference.manifest import build_manifest
from seq2set.inference.model_folder import load_model
from seq2set.inference.runtimes import GRAPH_FORMAT, GRAPHS
from seq2set.models.predictions import Request
from seq2set.workflows.export import write_graphs

MODELS = Path(__file__).resolve().parent.parent / "fixtures" / "formats" / "models"
FOREIGN = "is not the graph that an export of this model by this version writes; run `seq2set export"


def export(folder: Path, name: str, *, int8: bool = False) -> Path:
    """Copy a model and put its graphs beside it."""
    model = Path(shutil.copytree(MODELS / name, folder / "model"))
    graphs = write_graphs(model, load_model(model, "torch"), int8=int8)
    describe(model, int8=int8, graphs=graphs)
    return model


def describe(model: Path, **changed: Any) -> Path:
    """Write `onnx.json` and the manifest anew."""
    path = model / GRAPHS
    before = json.loads(path.read_text()) if path.is_file() else {"format": GRAPH_FORMAT, "seq2set": "0"}
    weights = {"weights": compute_sha256(model / "model.safetensors")}
    path.write_text(json.dumps(before | weights | changed))
    (model / "manifest.json").unlink()
    (model / "manifest.json").write_text(json.dumps(build_manifest(model)))
    return model


def change_graph(model: Path, change: Callable[[Any], object], name: str = "cnn.onnx") -> Path:
    graph = onnx.load(model / name, load_external_data=False)
    change(graph)
    (model / name).write_bytes(graph.SerializeToString())
    return describe(model)


def put_weights_elsewhere(model: Any, place: str = "model.safetensors") -> None:
    tensor = model.graph.initializer[0]
    size = 4 * int(np.prod(tensor.dims))
    tensor.ClearField("raw_data")
    tensor.ClearField("external_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": place, "offset": "0", "length": str(size)}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value


def add_output(model: Any, *nodes: Any) -> None:
    model.graph.node.extend(nodes)
    model.graph.output.append(helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None))


def grow(model: Any) -> None:
    """A value of 32 GB."""
    model.graph.initializer.append(numpy_helper.from_array(np.array([2**33], np.int64), "size"))
    add_output(model, helper.make_node("ConstantOfShape", ["size"], ["large"]))


def double(model: Any) -> None:
    """Operations that an export writes, of which each makes twice as much of it."""
    chain = [
        helper.make_node("Concat", [f"v{n - 1}" if n else "scores"] * 2, [f"v{n}"], axis=0) for n in range(40)
    ]
    add_output(model, *chain)


def loop(model: Any) -> None:
    """A loop of 2^60 rounds."""
    value = helper.make_tensor_value_info
    kinds = {"c": TensorProto.BOOL, "x": TensorProto.FLOAT, "d": TensorProto.BOOL, "y": TensorProto.FLOAT}
    values = {name: value(name, kind, []) for name, kind in kinds.items()}
    nodes = [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["x"], ["y"])]
    inputs = [value("i", TensorProto.INT64, []), values["c"], values["x"]]
    body = helper.make_graph(nodes, "body", inputs, [values["d"], values["y"]])
    numbers = {"rounds": np.array(2**60), "always": np.array(True), "one": np.array(1, np.float32)}
    model.graph.initializer.extend(numpy_helper.from_array(one, name) for name, one in numbers.items())
    add_output(model, helper.make_node("Loop", list(numbers), ["end"], body=body))


def fill_far(model: Any) -> None:
    """The amount to fill up by is a number beside the weights."""
    (first,) = [node.input[1] for node in model.graph.node if node.op_type == "Pad"][:1]
    (amounts,) = [one for one in model.graph.initializer if one.name == first]
    numbers = numpy_helper.to_array(amounts).copy()
    numbers[-1] = 2**40
    amounts.CopyFrom(numpy_helper.from_array(numbers, first))


def rename_output(model: Any) -> None:
    for node in model.graph.node:
        node.output[:] = ["other" if one == "scores" else one for one in node.output]
    model.graph.output[0].name = "other"


def add_domain(model: Any) -> None:
    model.opset_import.append(helper.make_opsetid("com.elsewhere", 1))
    model.graph.node[0].domain = "com.elsewhere"


CHANGES = [put_weights_elsewhere, grow, double, loop, fill_far, rename_output, add_domain]


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_graphs_of_strangers_are_not_run(change: Callable[[Any], None], int8: bool, tmp_path: Path) -> None:
    model = export(tmp_path, "cnn", int8=int8)
    load_model(model, "onnx")
    with pytest.raises(ModelFolderError, match=FOREIGN):
        load_model(change_graph(model, change), "onnx")


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("name", ["cnn", "cnn-rnn", "seq2seq", "seq2set-simp", "seq2set"])
def test_every_graph_of_an_export_is_known_again(name: str, int8: bool, tmp_path: Path) -> None:
    model = export(tmp_path, name, int8=int8)
    tagger = load_model(model, "onnx")
    assert np.isfinite(tagger.infer(["wheat harvest"], Request()).scores).all()
    sentence = "graphs.safetensors is missing; run `seq2set export" if int8 else FOREIGN
    with pytest.raises(ModelFolderError, match=sentence):
        load_model(describe(model, int8=not int8), "onnx")


@pytest.mark.parametrize(
    ("content", "int8", "sentence"),
    [
        (b"\xff" * 100, False, FOREIGN),
        (b"\xff" * 100, True, "is no graph that can be opened"),
        (b"", True, FOREIGN),
        (b"\0" * 3_000_000, True, "has 3,000,000"),
    ],
)
def test_files_that_are_no_graphs(content: bytes, int8: bool, sentence: str, tmp_path: Path) -> None:
    model = export(tmp_path, "cnn", int8=int8)
    (model / "cnn.onnx").write_bytes(content)
    with pytest.raises(ModelFolderError, match=sentence):
        load_model(describe(model), "onnx")


@pytest.mark.parametrize(
    "graphs", [{}, {"other": "cnn.onnx"}, {"cnn": "cnn.onnx"} | {str(n): "cnn.onnx" for n in range(2000)}]
)
def test_a_model_has_its_own_graphs_and_no_others(graphs: dict[str, str], tmp_path: Path) -> None:
    """Two thousand took minutes to open."""
    with pytest.raises(ModelFolderError, match="the model has the graphs cnn, and not"):
        load_model(describe(export(tmp_path, "cnn"), graphs=graphs), "onnx")


def test_weights_of_other_sizes_are_refused_before_their_graphs_are_built(tmp_path: Path) -> None:
    """A product of two long thin tensors would take terabytes."""
    model = export(tmp_path, "seq2set-simp")
    tensors = load_file(model / "model.safetensors")
    for name in ("embedding.weight", "cells.0.weight_ih", "cells.0.weight_hh"):
        key = f"network/set_decoder.{name}"
        save_file(tensors | {key: np.zeros((1000, 1), np.float32)}, model / "model.safetensors")
        with pytest.raises(ModelFolderError, match=f"the tensor '{key}' does not fit decoder.hidden = "):
            load_model(describe(model), "onnx")


def change_weights(model: Path, **changed: Any) -> Path:
    """Write the weights of the graphs anew, some of them changed and those that are None left out."""
    path = model / "graphs.safetensors"
    weights = load_file(path) | {f"cnn/{name}": value for name, value in changed.items()}
    save_file({name: value for name, value in weights.items() if value is not None}, path)
    return describe(model)


WRONG_WEIGHTS = [
    ({"constant0": None}, "the tensor 'cnn/constant0' is missing"),
    ({"other": np.zeros(3, np.float32)}, "the tensor 'cnn/other' is none of this model's"),
    ({"constant0": np.zeros((2, 3), np.float32)}, "the tensor 'cnn/constant0' is F32 of 2 x 3; it must be"),
    ({"constant0": np.zeros(3, np.float64)}, "the tensor 'cnn/constant0' is F64 of 3; it must be F32 of"),
]


@pytest.mark.parametrize(("changed", "sentence"), WRONG_WEIGHTS)
def test_weights_of_other_names_or_shapes_are_refused(
    changed: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    model = change_weights(export(tmp_path, "cnn"), **changed)
    with pytest.raises(ModelFolderError, match=sentence):
        load_model(model, "onnx")


def test_weights_that_end_too_early_are_refused(tmp_path: Path) -> None:
    model = export(tmp_path, "cnn")
    weights = model / "graphs.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ModelFolderError, match=r"graphs.safetensors has [\d,]+ bytes; its header describes"):
        load_model(describe(model), "onnx")


@pytest.mark.filterwarnings("ignore:invalid value")
def test_graphs_whose_weights_are_no_numbers(tmp_path: Path) -> None:
    model = export(tmp_path, "cnn")
    weights = load_file(model / "graphs.safetensors")
    spoilt = {name: np.full_like(one, np.nan) for name, one in weights.items()}
    save_file(spoilt, model / "graphs.safetensors")
    tagger = load_model(describe(model), "onnx")
    with pytest.raises(WorkError, match="gives scores that are not numbers"):
        tagger.infer(["wheat harvest"], Request())
