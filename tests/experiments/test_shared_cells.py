"""Experiments in several processes on one folder, which want the same training at the same time."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from small_experiments import Noting, small_options

from seq2set.cli.app import main
from seq2set.config.run_locks import find_holder
from seq2set.core.errors import BusyError, PendingError
from seq2set.core.processes import EndedWorker
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells import run as cell_runs
from seq2set.experiments.cells.cell import run_cell
from seq2set.experiments.cells.plan import Schedule
from seq2set.experiments.cells.run import read_failure, run_cells
from seq2set.experiments.studies.compare import STUDY as COMPARE

EXPERIMENT = """
import sys
from seq2set.cli.app import run_process
from seq2set.experiments.cells import cell

train = cell.train


def train_when_told(*given, **named):
    print("training", flush=True)
    sys.stdin.readline()
    return train(*given, **named)


if sys.argv[1] == "slow":
    cell.train = train_when_told
sys.argv = ["seq2set", "experiment", "compare", *sys.argv[2:]]
run_process()
"""
SETTINGS = ("linear.c=[1]", "features.min_documents=1", "threads=1")


def list_arguments(corpus: PreparedCorpus, out: Path, models: str, *more: str) -> list[str]:
    settings = [part for one in SETTINGS for part in ("--set", one)]
    return ["--data", str(corpus.folder), "--out", str(out), "--models", models, *settings, *more]


@contextmanager
def started(pace: str, arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", EXPERIMENT, pace, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",  # what a locale of few letters makes of a table does not matter here
        env=os.environ | {"COLUMNS": "200"},
    ) as process:
        try:
            yield process
        finally:  # nothing runs on where the test fails
            process.kill()


@contextmanager
def training(corpus: PreparedCorpus, out: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which is training `br` until it reads a line."""
    with started("slow", list_arguments(corpus, out, "br")) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "training\n"
        yield process


def finish(process: subprocess.Popen[str]) -> str:
    _, said = process.communicate("go on\n")
    assert process.returncode == 0, said
    return said


def read_until(process: subprocess.Popen[str], wanted: str) -> list[str]:
    """Return the lines of standard error up to the first with these words."""
    assert process.stderr is not None
    read = []
    for line in process.stderr:
        read.append(line)
        if wanted in line:
            return read
    pytest.fail(f"'{wanted}' was not said: {read}")


@pytest.fixture
def compare(
    small_corpus: PreparedCorpus,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., tuple[int, str, str]]:
    """Run an experiment here; return its exit code and what it printed."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(models: str, *more: str) -> tuple[int, str, str]:
        arguments = list_arguments(small_corpus, tmp_path / "out", models, *more)
        monkeypatch.setattr(sys, "argv", ["seq2set", "experiment", "compare", *arguments])
        capsys.readouterr()
        code = 0
        with suppress(SystemExit):
            try:
                main()
            except SystemExit as stop:
                code = int(stop.code or 0)
        return (code, *capsys.readouterr())

    return run


def list_results(out: Path) -> list[str]:
    found = json.loads((out / "compare" / "results.json").read_text(encoding="utf-8"))
    return [cell["name"] for cell in found["cells"]]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_another_process_trains_is_pending_and_can_be_collected(
    small_corpus: PreparedCorpus, tmp_path: Path, compare: Callable[..., tuple[int, str, str]], jobs: str
) -> None:
    out = tmp_path / "out"
    with training(small_corpus, out) as other:
        code, said, why = compare("br,lp", "--no-wait", "--jobs", jobs)
        assert code == 3, why
        assert "1 cell is pending, the rest is done; br: process" in why
        assert f"br: process {other.pid} on {socket.gethostname()} (since " in why
        assert f"collects it: seq2set experiment compare --data {small_corpus.folder}" in why
        assert "failed" not in why
        assert ("LP" in said, "BR" in said, list_results(out)) == (True, False, ["lp"])
        code, said, _ = compare("br,lp", "--dry-run")
        rows = [line.split()[:2] for line in said.splitlines()]
        assert (code, ["br", "elsewhere"] in rows, ["lp", "done"] in rows) == (0, True, True)
        assert compare("br", "--no-wait", "--jobs", jobs)[0] == 3
        finish(other)
    trained = (out / "cells" / "br" / "cell.json").read_bytes()
    code, _, why = compare("br,lp", "--no-wait")
    assert (code, list_results(out)) == (0, ["br", "lp"]), why
    assert (out / "cells" / "br" / "cell.json").read_bytes() == trained


def test_what_another_process_trains_is_waited_for_at_the_end(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with (
        training(small_corpus, out) as other,
        started("fast", list_arguments(small_corpus, out, "br,lp")) as here,
    ):
        before = "".join(read_until(here, "waiting for br"))
        assert "lp: micro-F1" in before
        assert f"waiting for br: process {other.pid} on {socket.gethostname()} (since " in before
        finish(other)
        trained = (out / "cells" / "br" / "cell.json").read_bytes()
        finish(here)
    assert list_results(out) == ["br", "lp"]
    assert (out / "cells" / "br" / "cell.json").read_bytes() == trained


def test_who_waits_takes_over_from_a_process_that_dies(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with (
        training(small_corpus, out) as other,
        started("fast", list_arguments(small_corpus, out, "br")) as here,
    ):
        read_until(here, "waiting for br")
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert "br: cell 1 of 1" in finish(here)
    assert list_results(out) == ["br"]


def test_a_cell_that_another_process_takes_first_is_put_off(
    small_corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at its lock and its own try somebody else may have begun."""
    options = small_options(small_corpus, tmp_path / "out", ("br",), assignments=SETTINGS)
    (cell,) = COMPARE.cells(options)
    with training(small_corpus, tmp_path / "out") as other:
        with pytest.raises(BusyError, match=f"br is in use by process {other.pid} on"):
            run_cell(cell, Noting())
        looks = iter([None])
        monkeypatch.setattr(cell_runs, "find_holder", lambda folder: next(looks, find_holder(folder)))
        outcome = run_cells(Schedule([cell], waits=False), Noting())
        assert [(one.cell, one.pending) for one in outcome.failures] == [(cell, True)]
        with pytest.raises(PendingError, match=r"1 cell is pending, the rest is done; br: process \d+ on"):
            outcome.raise_failures()
        finish(other)


def test_a_worker_that_finds_its_cell_taken_is_no_failure(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    (cell,) = COMPARE.cells(small_options(small_corpus, tmp_path, ("br",)))
    with pytest.raises(BusyError, match="in use by"):
        read_failure(EndedWorker(cell, '{"code": 1, "error": "BusyError", "message": "in use by"}\n', 1))
