"""Exported models: the same answers without torch, or nothing is written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from exported_models import LINEAR, NETWORKS, train_tiny
from safetensors.numpy import load_file
from typer.testing import CliRunner

from seq2set.cli.app import app
from seq2set.core.errors import (
    InputError,
    MissingExtraError,
    ModelFolderError,
    OutputError,
    UnknownNameError,
    WorkError,
)
from seq2set.core.files import compute_sha256
from seq2set.core.tensor_files import TensorRows
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference import runtimes
from seq2set.inference.model_folder import load_model, save_model, verify
from seq2set.inference.predictor import Predictor
from seq2set.models.predictions import Request
from seq2set.workflows import export
from seq2set.workflows.export import ExportOptions, describe_export, export_onnx

TEXTS = ["wheat harvest and crude oil", "tariff", "the market said", ""]
ROOT = Path(__file__).parents[2]

BLOCKED = """
import sys

NAMES = ("torch", "scipy", "sklearn", "joblib", "lightning_fabric", "matplotlib", "onnx", "google")

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NAMES:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Blocked())
"""
COMMANDS = (
    BLOCKED
    + """
import json
from seq2set.cli.app import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["seq2set", *arguments]
    try: main()
    except SystemExit as stop: assert not stop.code, (arguments, stop.code)
"""
)
SERVER = (
    BLOCKED
    + """
import pathlib
from running_servers import run
from seq2set.server.served_model import open_served
from seq2set.server.settings import ServeSettings
for model in sys.argv[1:]:
    running = run(open_served(pathlib.Path(model), "onnx"), ServeSettings(port=0))
    answer = running.predict(texts=["wheat harvest and crude oil"], explain=True)
    running.close()
    print(answer.status_code, answer.text)
"""
)


def run_blocked(code: str, *arguments: str) -> list[str]:
    """Run code in a process in which nothing that only training needs can be imported."""
    places = [ROOT / "src", ROOT / "tests", ROOT / "tests/server"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places)), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def runs(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All eight models, exported."""
    folder = tmp_path_factory.mktemp("exported")
    made = {name: train_tiny(name, small_corpus, folder) for name in (*LINEAR, *NETWORKS)}
    for run in made.values():
        export_onnx(run)
    return made


@pytest.fixture
def exported(runs: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the model folder of `seq2set-simp`, to be changed."""
    folder = tmp_path / "model"
    folder.mkdir()
    for file in (runs["seq2set-simp"] / "model").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def list_files(folder: Path) -> dict[str, str]:
    return {path.name: compute_sha256(path) for path in folder.iterdir()}


def rewrite(folder: Path, name: str, value: bytes) -> None:
    """Change a file of a model folder as its author could, manifest and all."""
    (folder / name).write_bytes(value)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = {"sha256": compute_sha256(folder / name), "bytes": len(value)}
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("name", [*LINEAR, *NETWORKS])
def test_both_runtimes_answer_alike(name: str, runs: dict[str, Path]) -> None:
    torch, onnx = (Predictor.open(runs[name], runtime) for runtime in ("torch", "onnx"))
    for request in (Request(), Request(explain=True, top_k=2)):
        for expected, found in zip(torch.predict(TEXTS, request), onnx.predict(TEXTS, request), strict=True):
            assert [one.label for one in found] == [one.label for one in expected]
            assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)
            assert [{word.word for word in one.evidence} for one in found] == [
                {word.word for word in one.evidence} for one in expected
            ]


@pytest.mark.skipif(not hasattr(os, "pread"), reason="the system cannot read at a place")
@pytest.mark.parametrize("runtime", ["torch", "onnx"])
def test_the_prior_s_weights_stay_in_the_file(runtime: str, runs: dict[str, Path], tmp_path: Path) -> None:
    tagger: Any = load_model(runs["seq2set"] / "model", runtime)
    assert isinstance(tagger.prior.scorer.weights, TensorRows)
    save_model(tagger, tmp_path / "model", card="", metadata={})
    before, after = (
        load_file(folder / "model.safetensors") for folder in (runs["seq2set"] / "model", tmp_path / "model")
    )
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)


def test_prediction_and_evaluation_import_nothing_of_training(
    runs: dict[str, Path], small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    (tmp_path / "own.csv").write_text("text,labels\nwheat harvest,grain\ncrude barrels,oil\n", "utf-8")
    searches = [("--search", one) for one in ("greedy", "beam", "set-beam", "marginal")]
    commands = [["predict", str(run), TEXTS[0], "--explain", "--json"] for run in runs.values()]
    commands += [
        ["predict", str(runs["seq2set"]), TEXTS[0], "--json", "--runtime", "onnx", *one] for one in searches
    ]
    commands += [["evaluate", str(run), "--json", "--runtime", "onnx"] for run in runs.values()]
    commands += [["evaluate", str(runs["seq2set"]), "--json", "--data", str(tmp_path / "own.csv")]]
    lines = [json.loads(line) for line in run_blocked(COMMANDS, json.dumps(commands))]
    assert len(lines) == len(commands)
    for (name, run), line in zip(runs.items(), lines, strict=False):
        (expected,) = Predictor.open(run, "torch").predict(TEXTS[:1])
        assert [one["label"] for one in line["labels"]] == [one.label for one in expected], name
        assert all(one["evidence"] or one["against"] for one in line["labels"]), name
    assert [line["model"] for line in lines[-9:]] == [*runs, "seq2set"]
    assert lines[-2]["documents"] == len(small_corpus.split("test"))
    assert lines[-1]["documents"] == 2


def test_serving_imports_nothing_of_training(runs: dict[str, Path]) -> None:
    lines = run_blocked(SERVER, str(runs["br"]), str(runs["seq2set"]))
    for line, run in zip(lines, (runs["br"], runs["seq2set"]), strict=True):
        status, _, body = line.partition(" ")
        (expected,) = Predictor.open(run, "torch").predict(TEXTS[:1])
        found = json.loads(body)["predictions"][0]["labels"]
        assert (status, [one["label"] for one in found]) == ("200", [one.label for one in expected])


FAILING = (
    BLOCKED
    + """
from seq2set.cli.app import main
try: import seq2set; seq2set.Seq2SetClassifier
except seq2set.core.errors.MissingExtraError as error: print(error)
sys.argv[0] = "seq2set"
try: main()
except SystemExit as stop: print(stop.code)
"""
)


def test_what_needs_training_libraries_says_what_to_install(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    arguments = ["train", "--data", str(small_corpus.folder), "--model", "br", "--out", str(tmp_path / "run")]
    lines = run_blocked(FAILING, *arguments)
    assert lines == ["this needs the package 'scipy': pip install 'seq2set[train]'", "2"]


def test_the_command_lists_and_checksums_the_graphs(runs: dict[str, Path]) -> None:
    run = runs["seq2set"]
    again = CliRunner().invoke(app, ["export", str(run), "--to", "onnx", "--force"])
    assert again.exit_code == 0, again.output
    assert "5 ONNX graphs are in" in again.output
    assert "validation texts the labels are torch's, and scores differ by at most" in again.output
    files = verify(run / "model")
    graphs = {"encoder.onnx", "sequence-start.onnx", "sequence-step.onnx", "set-start.onnx", "set-step.onnx"}
    assert graphs | {"onnx.json", "graphs.safetensors"} <= files.keys()
    assert files.keys() | {"manifest.json"} == list_files(run / "model").keys()
    as_json = CliRunner().invoke(app, ["export", str(run), "--force", "--json"])
    assert json.loads(as_json.stdout)["files"].keys() == graphs | {"graphs.safetensors"}


def test_a_linear_model_needs_no_graphs(runs: dict[str, Path]) -> None:
    before = list_files(runs["br"] / "model")
    report = export_onnx(runs["br"])
    assert describe_export(report) == [
        f"the model in {runs['br'] / 'model'} is linear: it runs without torch, and needs no graphs"
    ]
    assert list_files(runs["br"] / "model") == before


def test_graphs_that_answer_differently_are_not_written(
    exported: Path, small_corpus: PreparedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, list_network_weights = list_files(exported), export.list_network_weights

    def change(state: Any) -> dict[str, Any]:
        weights = list_network_weights(state)
        return weights | {"set_decoder.W_o.weight": 1.5 * weights["set_decoder.W_o.weight"]}

    monkeypatch.setattr(export, "list_network_weights", change)
    with pytest.raises(WorkError, match=r"the graphs answer differently from torch: of \d+ validation texts"):
        export_onnx(exported, ExportOptions(str(small_corpus.folder), force=True))
    assert list_files(exported) == before


def test_eight_bits_are_measured_and_refused_beyond_the_loss(
    exported: Path, small_corpus: PreparedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, options = list_files(exported), ExportOptions(str(small_corpus.folder), int8=True, force=True)
    report = export_onnx(exported, options._replace(max_loss=1.0))
    assert report.micro_f1 is not None
    first, second = describe_export(report)
    assert "4 ONNX graphs" not in first
    assert second.startswith(f"validation micro-F1 on {len(small_corpus.split('valid'))} documents: ")
    sizes = sum((exported / file).stat().st_size for file in report.files)
    assert load_model(exported, "onnx").infer(TEXTS, Request()).scores.shape == (4, 4)
    assert json.loads((exported / "onnx.json").read_text())["int8"]
    after = list_files(exported)
    assert (after.keys(), sizes > 0) == (before.keys() - {"graphs.safetensors"}, True)
    measured = iter([{"micro_f1": 0.9}, {"micro_f1": 0.85}])
    monkeypatch.setattr(
        export, "evaluate_tagger", lambda *_: type("Result", (), {"metrics": next(measured)})()
    )
    with pytest.raises(WorkError, match=r"micro-F1 falls from 0.9000 to 0.8500; at most 0.002 may be lost"):
        export_onnx(exported, options)
    assert list_files(exported) == after


def test_what_is_asked_for_wrongly_is_refused(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownNameError, match="runtime 'onx' is not known, did you mean 'onnx'"):
        load_model(exported, "onx")
    with pytest.raises(OutputError, match="has ONNX graphs already; pass --force to replace them"):
        export_onnx(exported)
    with pytest.raises(InputError, match=r"max_loss is -1; it must lie in \[0, 1\]"):
        export_onnx(exported, ExportOptions(max_loss=-1))
    wrong = CliRunner().invoke(app, ["export", str(exported), "--to", "onxx"])
    assert isinstance(wrong.exception, UnknownNameError)
    model = load_model(exported).config.model
    monkeypatch.setattr(export, "find_model", lambda name: runtimes.find_model(name)._replace(onnx=""))
    with pytest.raises(InputError, match=f"model is '{model}', whose row in the catalog names no"):
        export_onnx(exported, ExportOptions(force=True))


def test_without_a_corpus_nothing_is_compared_and_nothing_written(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads((exported / "config.json").read_text())
    config["settings"]["data"]["corpus"] = str(exported / "gone")
    rewrite(exported, "config.json", json.dumps(config).encode())
    before = list_files(exported)
    with pytest.raises(InputError, match="cannot be opened, name one with --data"):
        export_onnx(exported, ExportOptions(force=True))
    assert list_files(exported) == before


def test_graphs_of_another_version_other_weights_or_damaged_are_refused(exported: Path) -> None:
    about = json.loads((exported / "onnx.json").read_text())
    rewrite(exported, "onnx.json", json.dumps(about | {"format": 7, "seq2set": "9.9"}).encode())
    with pytest.raises(
        ModelFolderError, match=r"graphs of format 7, made by seq2set 9.9; this version runs format 2: run"
    ):
        load_model(exported, "onnx")
    rewrite(exported, "onnx.json", json.dumps(about | {"weights": "0"}).encode())
    with pytest.raises(ModelFolderError, match=r"ONNX graphs of other weights than model.safetensors holds"):
        load_model(exported, "onnx")
    for graphs in (None, {"encoder": "../encoder.onnx"}):
        rewrite(exported, "onnx.json", json.dumps(about | {"graphs": graphs}).encode())
        with pytest.raises(ModelFolderError, match=r"onnx.json names (no graphs|'../encoder.onnx')"):
            load_model(exported, "onnx")
    rewrite(exported, "onnx.json", json.dumps(about).encode())
    rewrite(exported, "encoder.onnx", b"no graph")
    with pytest.raises(ModelFolderError, match=r"encoder.onnx is not the graph that an export of this"):
        load_model(exported, "onnx")
    (exported / "encoder.onnx").write_bytes(b"damaged")
    with pytest.raises(ModelFolderError, match=r"encoder.onnx is damaged"):
        load_model(exported)


def test_without_graphs_or_torch_it_is_said_what_to_do(
    runs: dict[str, Path], exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = json.loads((exported / "manifest.json").read_text())
    del manifest["files"]["onnx.json"]
    (exported / "onnx.json").unlink()
    (exported / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelFolderError, match=r"no ONNX graphs; run `seq2set export .* --to onnx` first"):
        load_model(exported, "onnx")
    monkeypatch.setattr(runtimes, "is_installed", lambda package: False)
    with pytest.raises(MissingExtraError, match=r"'torch': pip install 'seq2set\[train\]', or `seq2set"):
        load_model(exported)
    assert type(load_model(runs["cnn"]).network).__name__ == "OnnxCnn"  # type: ignore[attr-defined]
    assert load_model(runs["br"]).infer(TEXTS, Request()).scores.shape == (4, 4)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_extra_is_named(package: str, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list_files(exported)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"package '{package}': pip install 'seq2set\[onnx\]'"):
        export_onnx(exported, ExportOptions(force=True))
    assert list_files(exported) == before


def test_a_folder_that_cannot_be_written_to_is_named(
    exported: Path, small_corpus: PreparedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = list_files(exported)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr("seq2set.inference.model_folder.tempfile.mkdtemp", refuse)
    with pytest.raises(OutputError, match=r"cannot write to .*model: permission is denied"):
        export_onnx(exported, ExportOptions(str(small_corpus.folder), force=True))
    assert list_files(exported) == before
