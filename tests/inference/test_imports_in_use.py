"""A model in use loads what it needs, and nothing that only training needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.inference.model_folder import save_model
from tiny_networks import tiny_config, trained

CODE = """
import json, sys
from seq2set.cli.app import main
sys.argv = ["seq2set", "predict", sys.argv[1], "wheat harvest", "--explain", "--json"]
try: main()
except SystemExit as stop: assert not stop.code
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def network_with_a_prior(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    tagger = trained(folder / "run", tiny_config("prior.enabled=true", model="seq2set-simp"))
    save_model(tagger, folder / "model", card="a card", metadata={})
    return folder / "model"


def loaded(model: Path) -> set[str]:
    called = subprocess.run(
        [sys.executable, "-c", CODE, str(model)], capture_output=True, text=True, check=True
    )
    answer, modules = called.stdout.splitlines()
    assert json.loads(answer)["id"] == "1"
    return set(json.loads(modules))


def test_br_in_use_loads_neither_scikit_learn_nor_torch(br_run: RunFolder) -> None:
    assert not loaded(br_run.path) & {"sklearn", "joblib", "torch", "matplotlib", "pyarrow"}


def test_a_network_in_use_does_not_load_scikit_learn(network_with_a_prior: Path) -> None:
    modules = loaded(network_with_a_prior)
    assert "torch" in modules
    assert not modules & {"sklearn", "joblib", "matplotlib", "pyarrow", "lightning_fabric"}
    assert "sympy" not in modules  # which comes with torch's compiler: a second of work and 80 MB


def imported(module: str) -> set[str]:
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(called.stdout))


def test_a_server_s_front_loads_no_model_and_no_tables() -> None:
    # A file that is sent to be labelled loads what its format needs.
    modules = imported("seq2set.server.listen")
    assert "fastapi" in modules
    assert not modules & {"torch", "scipy", "sklearn", "pyarrow", "onnxruntime", "matplotlib", "tokenizers"}


def test_a_model_process_loads_nothing_of_the_web() -> None:
    names = ("server.model_process", "server.served_model", "inference.predictor", "inference.onnx_networks")
    modules = imported(", ".join(f"seq2set.{name}" for name in names))
    assert not modules & {"fastapi", "starlette", "uvicorn", "prometheus_client", "pyarrow", "torch", "scipy"}
    assert not modules & {"typer", "rich", "onnx", "google"}


def test_measuring_a_linear_model_loads_no_torch() -> None:
    assert not imported("seq2set.workflows.evaluate, seq2set.workflows.train") & {
        "torch",
        "sklearn",
        "joblib",
    }
