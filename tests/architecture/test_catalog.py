"""A named thing is one row: those of `toys.py` appear wherever the package names its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_display_text import SOURCE, find_compared_texts

from seq2set.config import build_config
from seq2set.config.catalog import ENCODERS, METRICS, MODELS, REWARDS, SEARCHES
from seq2set.corpora.prepared import PreparedCorpus

HERE = Path(__file__).parent
COMMAND = "import toys; from seq2set.cli.app import main; main()"
BUILD = "import sys, toys; from seq2set.config import *; build_config(assignments=sys.argv[1:])"
SERVE = """
import pathlib, sys, toys
from running_servers import run
from seq2set.server.served_model import open_served
from seq2set.server.settings import ServeSettings

running = run(open_served(pathlib.Path(sys.argv[1])), ServeSettings(port=0))
print(running.client.get("/v1/model").text)
print(running.predict(texts=["wheat"], search="toy-first").text)
running.close()
"""
MODEL = "Toy: gives the most frequent label to every text"
PARTS = {
    "encoder": "toy-bag: word vectors and their mean, a toy",
    "search": "toy-first: the first label of the greedy search",
    "reward": "toy-recall: the recall of the set",
}
SMALL = ["encoder.embedding=4", "encoder.hidden=4", "decoder.embedding=4", "decoder.hidden=4"]
SMALL += ["decoder.attention=4", "warm_start.epochs=1", "self_critical.epochs=1", "prior.enabled=false"]


def python(code: str, *arguments: str | Path) -> str:
    """Run code that knows the toys and return what it prints."""
    folders = (str(HERE), str(HERE.parent / "server"), os.environ.get("PYTHONPATH"))
    places = os.pathsep.join(filter(None, folders))
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONPATH": places, "PYTHONIOENCODING": "utf-8", "COLUMNS": "400"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def seq2set(*arguments: str | Path) -> str:
    return python(COMMAND, *arguments)


@pytest.fixture(scope="module")
def linear_run(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("toys") / "frequency"
    seq2set("train", "--data", small_corpus.folder, "--model", "toy-frequency", "--out", run)
    return run


@pytest.fixture(scope="module")
def network_run(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("toys") / "network"
    chosen = [*SMALL, "objective.reward=toy-recall", "search.name=toy-first", "encoder.kind=toy-bag"]
    settings = [word for one in chosen for word in ("--set", one)]
    seq2set("train", "--data", small_corpus.folder, "--model", "seq2set-simp", *settings, "--out", run)
    return run


def evaluate(run: Path, *arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(seq2set("evaluate", run, "--json", *arguments))
    return found


def test_a_model_and_a_metric_of_a_row_are_evaluated(linear_run: Path, tmp_path: Path) -> None:
    found = evaluate(linear_run, "--report", tmp_path / "report")
    assert found["model"] == "toy-frequency"
    # The most frequent label is given to every document, and no other.
    assert found["toy_labels"] == 1.0
    page = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert "toy labels per document" in page
    assert f"<td>model</td><td>{MODEL}</td>" in page
    # It has none of them, whatever its settings say.
    assert [found[part] for part in PARTS] == [None] * 3
    assert not any(f"<td>{part}</td>" in page for part in PARTS)


def test_a_metric_brings_its_own_thresholds_per_label(linear_run: Path) -> None:
    chosen = ["--thresholds", linear_run, "--kind", "per-label", "--metric", "toy_labels", "--dry-run"]
    found = re.search(r"(rule: .*)\ntoy_labels on .* 1\.0000 -> (.*)", seq2set("tune", *chosen))
    assert found is not None
    assert "(per-label)" in found[1]
    # All that enough documents have, in the place of the most frequent one.
    assert float(found[2]) > 1


def test_a_search_a_reward_and_an_encoder_of_a_row_train_and_are_evaluated(
    network_run: Path, tmp_path: Path
) -> None:
    found = evaluate(network_run, "--report", tmp_path / "report")
    assert found["model"] == "seq2set-simp"
    assert 0 < found["toy_labels"] <= 1
    assert [found[part] for part in PARTS] == [row.partition(":")[0] for row in PARTS.values()]
    page = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    for part, row in PARTS.items():
        assert f"<td>{part}</td><td>{row}</td>" in page
    settings = (network_run / "config.toml").read_text(encoding="utf-8")
    assert 'reward = "toy-recall"' in settings
    assert 'kind = "toy-bag"' in settings


@pytest.mark.parametrize(
    ("verb", "names"),
    [
        ("train", ["toy-frequency", "toy-bag", "toy-recall"]),
        ("evaluate", ["toy-first"]),
        ("predict", ["toy-first"]),
        ("tune", ["toy-frequency", "toy_labels"]),
        ("experiment", ["toy-frequency"]),
    ],
)
def test_the_help_lists_the_rows(verb: str, names: list[str]) -> None:
    shown = {line.split()[0] for line in seq2set(verb, "--help").splitlines() if line.strip()}
    assert set(names) <= shown


def test_the_server_names_and_takes_the_search(network_run: Path) -> None:
    model, answer = map(json.loads, python(SERVE, network_run).splitlines())
    assert "toy-first" in model["searches"]
    assert model["metrics"]["toy_labels"] > 0
    assert len(answer["predictions"][0]["labels"]) <= 1


def test_a_fault_names_the_rows() -> None:
    settings = ["model=x", "search.name=x", "objective.reward=x", "encoder.kind=x", "decision.metric=x"]
    with pytest.raises(AssertionError) as caught:
        python(BUILD, *settings)
    for name in ("toy-frequency", "toy-first", "toy-recall", "toy-bag", "toy_labels"):
        assert f"'{name}'" in str(caught.value)


@pytest.mark.parametrize("table", [ENCODERS, SEARCHES, REWARDS, METRICS])
def test_no_name_is_compared_in_code(table: dict[str, Any]) -> None:
    """What differs between the rows of a table stands in the rows."""
    found = {
        f"{path.name}:{line}": text
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text in find_compared_texts(path.read_text(encoding="utf-8"))
        if text in table
    }
    assert found == {}


def test_a_model_has_the_parts_that_its_row_says() -> None:
    parts = {model: build_config(model=model).name_parts("beam") for model in MODELS}
    convolution, bilstm = {"encoder": "convolution"}, {"encoder": "bilstm"}
    search, reward = {"search": "beam"}, {"reward": build_config().objective.reward}
    assert parts == {"br": {}, "cc": {}, "lp": {}} | {
        "cnn": convolution,
        "cnn-rnn": convolution | search,
        "seq2seq": bilstm | search,
        "seq2set-simp": bilstm | search | reward,
        "seq2set": bilstm | search | reward,
    }
    assert build_config(model="seq2seq").name_parts()["search"] == build_config().search.name
