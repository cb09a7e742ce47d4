"""Every example of docs/extending.md runs as it stands, through the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from seq2set.config import build_config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
TICKETS = ROOT / "docs" / "examples" / "tickets.csv"
SMALL = ["encoder.embedding=4", "encoder.hidden=4", "decoder.embedding=4", "decoder.hidden=4"]
SMALL += ["decoder.attention=4", "warm_start.epochs=1", "self_critical.epochs=1", "prior.enabled=false"]
EXAMPLES = dict(re.findall(r"```python\n# (my_\w+)\.py\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples as files, and a model trained without them."""
    place = tmp_path_factory.mktemp("extending")
    for name, code in EXAMPLES.items():
        (place / f"{name}.py").write_text(code, encoding="utf-8")
    seq2set(place, "", "train", "--data", TICKETS, "--model", "br", "--set", "linear.c=[1.0]", "--out", "br")
    return place


def seq2set(folder: Path, example: str, *arguments: str | Path) -> str:
    """Run the command line after importing an example, and return what it prints."""
    places = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    code = f"{f'import {example}; ' if example else ''}from seq2set.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        cwd=folder,
        encoding="utf-8",
        env=os.environ | {"PYTHONPATH": places, "PYTHONIOENCODING": "utf-8", "COLUMNS": "300"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def train_network(folder: Path, example: str, out: str, *settings: str) -> None:
    words = [word for one in (*SMALL, *settings) for word in ("--set", one)]
    seq2set(folder, example, "train", "--data", TICKETS, "--model", "seq2set-simp", *words, "--out", out)


def test_there_is_an_example_of_each_kind() -> None:
    kinds = {"metric", "reward", "search", "encoder", "model", "format", "source", "benchmark", "study"}
    assert {name.removeprefix("my_") for name in EXAMPLES} == kinds


def test_the_metric(folder: Path) -> None:
    found = json.loads(seq2set(folder, "my_metric", "evaluate", "br", "--json", "--report", "report"))
    micro = found["micro_f1"]
    assert found["micro_jaccard"] == pytest.approx(micro / (2 - micro))  # J = F / (2 - F)
    assert "micro-Jaccard" in (folder / "report" / "index.html").read_text(encoding="utf-8")
    assert "J(+)" in seq2set(folder, "my_metric", "evaluate", "br")


def test_the_metric_is_tuned_for(folder: Path) -> None:
    """Whatever is best for micro-F1 is so for micro-Jaccard."""
    for kind in ("global", "per-label"):
        call = "tune", "--thresholds", "br", "--kind", kind, "--dry-run", "--metric"
        own, same = (seq2set(folder, "my_metric", *call, name) for name in ("micro_jaccard", "micro_f1"))
        assert own.splitlines()[0] == same.splitlines()[0]
        assert "micro_jaccard on" in own


def test_the_search(folder: Path) -> None:
    train_network(folder, "", "plain")
    found = seq2set(
        folder, "my_search", "predict", "plain", "The app crashes on my phone.", "--search", "pair", "--json"
    )
    assert len(json.loads(found)["labels"]) <= 2


def test_the_reward(folder: Path) -> None:
    train_network(folder, "my_reward", "rewarded", "objective.reward=precision")
    assert 'reward = "precision"' in (folder / "rewarded" / "config.toml").read_text(encoding="utf-8")


def test_the_encoder(folder: Path) -> None:
    train_network(folder, "my_encoder", "mean", "encoder.kind=mean")
    text = "The app crashes on my phone."
    found = seq2set(folder, "my_encoder", "predict", "mean", text, "--explain", "--top-k", "1", "--json")
    assert json.loads(found)["labels"][0]["evidence"]


def test_the_model(folder: Path) -> None:
    seq2set(folder, "my_model", "train", "--data", TICKETS, "--model", "frequency", "--out", "frequent")
    found = json.loads(seq2set(folder, "my_model", "evaluate", "frequent", "--json"))
    assert (found["model"], found["documents"]) == ("frequency", 40)
    answer = seq2set(folder, "my_model", "predict", "frequent", "The app crashes.", "--explain", "--json")
    assert json.loads(answer)["labels"]


def test_the_preset(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    # A preset has a row in the package; a file of settings is the same without its name.
    path = tmp_path / "tiny.toml"
    path.write_text(text.replace('preset = "tiny"\n', ""), encoding="utf-8")
    assert build_config(file=path).encoder.hidden == 16


def test_the_format(folder: Path) -> None:
    lines = [f"{'grain, trade' if n % 2 else 'oil'} | text {n} of a line" for n in range(40)]
    (folder / "lines.piped").write_text("\n".join(lines), encoding="utf-8")
    assert "40" in seq2set(folder, "my_format", "data", "stats", "lines.piped")


def test_the_source(folder: Path) -> None:
    assert "tickets" in seq2set(folder, "my_source", "data", "list")
    seq2set(folder, "my_source", "data", "prepare", "tickets", "--from", TICKETS, "--out", "tickets")
    assert json.loads((folder / "tickets" / "corpus.json").read_text(encoding="utf-8"))["name"] == "tickets"


def test_the_benchmark(folder: Path) -> None:
    found = json.loads(seq2set(folder, "my_benchmark", "bench", "counting", "--json"))
    assert found["opponent"] == "a loop"


def test_the_study(folder: Path) -> None:
    small = ["--set", "linear.c=[1.0]"]
    seq2set(folder, "my_study", "experiment", "terms", "--data", TICKETS, "--out", "terms", *small)
    found = json.loads((folder / "terms" / "terms" / "results.json").read_text(encoding="utf-8"))
    assert "How long terms should be" in json.dumps(found)
