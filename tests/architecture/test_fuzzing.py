"""Every target of `make fuzz` runs, and a fault is noticed."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st

import fuzz
import fuzz_targets
from seq2set.benchmarks.serving.serve import ServerProcess, start_server
from seq2set.config.run_folder import RunFolder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(fuzz, "FOLDER", tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def server(br_run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    database = tmp_path_factory.mktemp("feedback") / "f.sqlite"
    with start_server(br_run.path, "--feedback", str(database), "--workers", "1") as started:
        yield started


@pytest.mark.parametrize("name", [name for name, row in fuzz.TARGETS.items() if not row.needs_server])
def test_readers_give_documents_or_one_error(name: str) -> None:
    assert fuzz.fuzz_target(name, (), 0.0) >= 5


@pytest.mark.parametrize("name", [name for name, row in fuzz.TARGETS.items() if row.needs_server])
def test_the_server_answers_whatever_comes(server: ServerProcess, name: str) -> None:
    assert fuzz.fuzz_target(name, (server,), 0.0) >= 5
    assert server.process.poll() is None


def test_what_breaks_is_kept_and_tried_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def check(number: int) -> None:
        tried.append(number)
        assert number < 1000

    target = fuzz_targets.Target("numbers", st.integers(0, 10**6), check)
    monkeypatch.setitem(fuzz.TARGETS, "numbers", target)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert "assert 1000 < 1000" in fuzz.fuzz_all(["numbers"], 0.0)["numbers"]  # the least that breaks it
    assert list((folder / "examples").rglob("*"))
    tried.clear()
    assert fuzz.fuzz_all(["numbers"], 0.0)
    assert tried[0] == 1000


def test_an_input_that_ends_the_process_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = (
        "import os, sys, pathlib, fuzz, fuzz_targets; fuzz.FOLDER = pathlib.Path(sys.argv[1])\n"
        "inputs = fuzz_targets.st.just((b'PAR1', {'text': 'a'}))\n"
        "target = fuzz_targets.Target('deadly', inputs, lambda case: os._exit(9))\n"
        "fuzz.TARGETS['parquet'] = target\n"
        "fuzz.fuzz_all(['parquet'], 0.0)\n"
    )
    tools = str(Path(fuzz.__file__).parent)
    done = subprocess.run([sys.executable, "-c", command, str(folder)], cwd=tools, check=False)
    assert done.returncode == 9
    monkeypatch.setattr("sys.stdout", io.StringIO())
    faults = fuzz.fuzz_all(["parquet"], 0.0)
    assert faults["parquet"] == "an earlier run ended while it tried this: (b'PAR1', {'text': 'a'})"
    assert (folder / "faults/parquet-fatal.txt").read_text() == "(b'PAR1', {'text': 'a'})"
    assert fuzz.fuzz_all(["parquet"], 0.0) == {}
    assert list((folder / "tried").iterdir()) == []


@pytest.mark.parametrize("answer", [b"HTTP/1.1 500 x\r\n\r\n", b"HTTP/1.1 404 x\r\n\r\n{}"])
def test_answers_that_are_none_are_noticed(answer: bytes) -> None:
    fuzz_targets.check_answers(b'HTTP/1.1 200 OK\r\n\r\n{}HTTP/1.1 404 x\r\n\r\n{"error": {}}')
    with pytest.raises(AssertionError):
        fuzz_targets.check_answers(answer)
