"""Graphs as we write them are, byte by byte, those that the library for the format writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from seq2set.inference.graphs.builder import Graph, GraphBuilder
from seq2set.inference.graphs.check import WEIGHTS, name_graph_files, write_graph_files
from seq2set.inference.graphs.messages import INT64

VECTORS = np.arange(600, dtype=np.float32).reshape(200, 3)  # a side of more than 127 takes two bytes


def build() -> Graph:
    graph = GraphBuilder({"vectors": VECTORS})
    ids = graph.input("ids", ["B", 2, None], INT64)
    read = graph.add("Gather", graph.weight("vectors"), ids)
    first, _ = graph.add("Split", read, outputs=2, axis=-1, num_outputs=2)
    turned = graph.add("Transpose", graph.add("Add", first, graph.constant(-np.inf)), perm=[3, 0, 1, 2])
    graph.output("found", graph.add("Squeeze", turned, graph.axes(-1)), ["B", None])
    return graph.build("small")


def test_a_graph_is_what_the_library_writes() -> None:
    nodes = [
        helper.make_node("Gather", ["constant0", "ids"], ["value0.0"]),
        helper.make_node("Split", ["value0.0"], ["value1.0", "value1.1"], axis=-1, num_outputs=2),
        helper.make_node("Add", ["value1.0", "constant1"], ["value2.0"]),
        helper.make_node("Transpose", ["value2.0"], ["value3.0"], perm=[3, 0, 1, 2]),
        helper.make_node("Squeeze", ["value3.0", "constant2"], ["value4.0"]),
        helper.make_node("Identity", ["value4.0"], ["found"]),
    ]
    numbers = [VECTORS, np.array(-np.inf, np.float32), np.array([-1], np.int64)]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["B", 2, None])],
        [helper.make_tensor_value_info("found", TensorProto.FLOAT, ["B", None])],
        [numpy_helper.from_array(one, f"constant{number}") for number, one in enumerate(numbers)],
    )
    expected = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    assert build().to_bytes() == expected.SerializeToString()


def test_weights_are_read_from_the_file_beside_the_graph(tmp_path: Path) -> None:
    write_graph_files(tmp_path, {"small": build()})
    path = tmp_path / name_graph_files(["small"])["small"]
    assert path.stat().st_size < 1000 < (tmp_path / WEIGHTS).stat().st_size
    vectors, lowest, axes = onnx.load(path).graph.initializer
    assert (numpy_helper.to_array(vectors) == VECTORS).all()
    assert numpy_helper.to_array(lowest) == -np.inf
    assert numpy_helper.to_array(axes).tolist() == [-1]


PRIVATE = """
import sys
from pathlib import Path
import numpy as np
from seq2set.inference.onnx_decoder import Sessions

def measure():
    text = Path("/proc/self/smaps_rollup").read_text()
    return int(text.partition("Anonymous:")[2].split()[0]) * 1024

import onnxruntime  # whose own memory is not what is measured
before = measure()
sessions = Sessions(Path(sys.argv[1]), {"large": "large.onnx"})
found = sessions.run("large", {"ids": np.arange(0, 100_000, 5)})["found"]
print(measure() - before - found.nbytes, found[3].tolist())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")
def test_a_process_has_no_copy_of_word_vectors(tmp_path: Path) -> None:
    graph = GraphBuilder({})
    vectors = np.repeat(np.arange(100_000, dtype=np.float32)[:, None], 100, 1)  # 40 MB
    read = graph.add("Gather", graph.constant(vectors), graph.input("ids", ["B"], INT64))
    graph.output("found", read, ["B", None])
    write_graph_files(tmp_path, {"large": graph.build("large")})
    told = subprocess.run(
        [sys.executable, "-c", PRIVATE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    size, _, row = told.stdout.partition(" ")
    assert row.strip() == str([15.0] * 100)
    assert int(size) < 20_000_000
