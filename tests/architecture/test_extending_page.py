"""Every example of docs/extending.md runs as it stands, through the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
TICKETS = ROOT / "docs" / "examples" / "tickets.csv"
SMALL = ["encoder.embedding=4", "encoder.hidden=4", "decoder.embedding=4", "decoder.hidden=4"]
SMALL += ["decoder.attention=4", "warm_start.epochs=1", "self_critical.epochs=1", "prior.enabled=false"]
EXAMPLES = dict(re.findall(r"```(?:python|toml)\n# (\w+\.\w+)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples as files, and a model trained without them."""
    place = tmp_path_factory.mktemp("extending")
    for name, code in EXAMPLES.items():
        (place / name).write_text(code, encoding="utf-8")
    seq2set(place, "", "train", "--data", TICKETS, "--model", "br", "--set", "linear.c=[1.0]", "--out", "br")
    return place


def seq2set(folder: Path, example: str, *arguments: str | Path, **variables: str) -> str:
    """Run the command line after importing an example, and return what it prints."""
    with start(folder, example, *arguments, **variables) as process:
        printed, said = process.communicate()
    assert process.returncode == 0, said
    return printed


def start(folder: Path, example: str, *arguments: str | Path, **variables: str) -> subprocess.Popen[str]:
    places = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    code = f"{f'import {example}; ' if example else ''}from seq2set.cli.app import main; main()"
    shown = {"PYTHONPATH": places, "PYTHONIOENCODING": "utf-8", "COLUMNS": "300"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        encoding="utf-8",
        env=os.environ | shown | variables,
    )


def train_network(folder: Path, example: str, out: str, *settings: str) -> None:
    words = [word for one in (*SMALL, *settings) for word in ("--set", one)]
    seq2set(folder, example, "train", "--data", TICKETS, "--model", "seq2set-simp", *words, "--out", out)


KINDS = ("metric", "reward", "search", "encoder", "model", "preset", "format", "source", "benchmark", "study")


def test_there_is_an_example_of_each_kind() -> None:
    assert EXAMPLES.keys() == {"tiny.toml", *(f"my_{kind}.py" for kind in (*KINDS, "verb", "route"))}


def test_the_metric(folder: Path) -> None:
    found = json.loads(seq2set(folder, "my_metric", "evaluate", "br", "--json", "--report", "report"))
    micro = found["micro_f1"]
    assert found["micro_jaccard"] == pytest.approx(micro / (2 - micro))  # J = F / (2 - F)
    assert "micro-Jaccard" in (folder / "report" / "index.html").read_text(encoding="utf-8")
    table = seq2set(folder, "my_metric", "evaluate", "br", COLUMNS="80")
    assert re.search(r"^ *Models .* J\(\+\) *$", table, re.MULTILINE)
    assert re.search(rf"^ *br .* {found['micro_jaccard']:.3f} *$", table, re.MULTILINE)


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


def test_the_preset(folder: Path) -> None:
    assert "trains in seconds, to try things out" in seq2set(folder, "my_preset", "train", "--help")
    words = ("--model", "br", "--set", "linear.c=[1.0]", "--preset", "tiny", "--out", "tiny")
    seq2set(folder, "my_preset", "train", "--data", TICKETS, *words)
    config = tomllib.loads((folder / "tiny" / "config.toml").read_text(encoding="utf-8"))
    assert (config["preset"], config["encoder"]["hidden"]) == ("tiny", 16)


def test_the_format(folder: Path) -> None:
    lines = [f"{'grain, trade' if n % 2 else 'oil'} | text {n} of a line" for n in range(40)]
    (folder / "lines.piped").write_text("\n".join(lines), encoding="utf-16-le")
    call = ("data", "stats", "lines.piped", "--encoding", "utf-16-le")
    assert "40" in seq2set(folder, "my_format", *call)
    with start(folder, "my_format", *call, "--text", "body") as process:
        _, said = process.communicate()
    assert "--text has no effect on files in the format piped text" in said
    (folder / "bare.piped").write_text("a text\n", encoding="utf-8")
    with start(folder, "my_format", "data", "stats", "bare.piped") as process:
        _, said = process.communicate()
    assert "line 1: the line has no bar; it must be `label, label | text`" in said


def test_the_source(folder: Path) -> None:
    assert "tickets" in seq2set(folder, "my_source", "data", "list")
    seq2set(folder, "my_source", "data", "prepare", "tickets", "--from", TICKETS, "--out", "tickets")
    assert json.loads((folder / "tickets" / "corpus.json").read_text(encoding="utf-8"))["name"] == "tickets"
    (folder / "short.csv").write_text("id,text,labels\nt1,text\n", encoding="utf-16")
    for name, sentence in (("short.csv", "line 2: the line has 2 cells"), ("no.csv", "does not exist")):
        call = ("data", "prepare", "tickets", "--from", name, "--out", "refused", "--encoding", "utf-16")
        with start(folder, "my_source", *call) as process:
            _, said = process.communicate()
        assert (process.returncode, said.count("\n"), sentence in said) == (2, 1, True), said


def test_the_benchmark(folder: Path) -> None:
    found = json.loads(seq2set(folder, "my_benchmark", "bench", "counting", "--json"))
    assert found["opponent"] == "a loop"


def test_the_study(folder: Path) -> None:
    small = ["--set", "linear.c=[1.0]", "--option", "lengths=1"]
    seq2set(folder, "my_study", "experiment", "terms", "--data", TICKETS, "--out", "terms", *small)
    found = json.loads((folder / "terms" / "terms" / "results.json").read_text(encoding="utf-8"))
    assert "How long terms should be" in json.dumps(found)


def test_the_verb(folder: Path) -> None:
    assert re.search(r"describe +Say what a model is", seq2set(folder, "my_verb", "--help"))
    assert seq2set(folder, "my_verb", "describe", "br").startswith("br, 8 labels, gives ")
    with start(folder, "my_verb", "describe", "nowhere") as process:
        _, said = process.communicate()
    assert (process.returncode, said.count("\n")) == (2, 1)


def test_the_route(folder: Path) -> None:
    path = "/v1/rare-labels"
    words = ("serve", "br", "--port", "0", "--workers", "1", "--no-access-log")
    with start(folder, "my_route", *words, SEQ2SET_API_KEY="secret") as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            with httpx.Client(base_url=address, timeout=120) as client:
                assert client.get(path).status_code == 401
                client.headers["X-API-Key"] = "secret"
                rare, known = client.get(f"{path}?below=50"), client.get("/v1/labels")
                assert rare.json() == [row for row in known.json()["labels"] if row["frequency"] < 50]
                assert 0 < len(rare.json()) < known.json()["total"]
                assert client.get(f"{path}?below=0").status_code == 422
                assert path in client.get("/v1/openapi.json").json()["paths"]
        finally:
            server.terminate()
