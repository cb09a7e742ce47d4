"""A real study of the command line, killed in the middle of trials, against one that was left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from studies import NETWORK_SPACE, cells, network_config, space_file

from seq2set.corpora.prepared import PreparedCorpus
from seq2set.tuning.search import tune


def looks(out: Path) -> dict[str, int]:
    return {path.parent.name: path.read_text().count("\n") for path in out.glob("trials/*/history.jsonl")}


def first_look(run: Path) -> str:
    """Return a line that no other run has: it says how long the look took."""
    return (run / "history.jsonl").read_text().splitlines()[0]


@pytest.mark.usefixtures("undrawn")
def test_a_study_killed_with_its_workers_at_work_ends_as_if_it_had_been_left_alone(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    config, space = network_config(small_corpus), space_file(tmp_path, NETWORK_SPACE)
    whole = tmp_path / "whole.toml"
    tune(config, tmp_path / "alone", space=space, trials=3)
    whole.write_bytes((tmp_path / "alone" / "config.toml").read_bytes())
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "seq2set", "tune", "--config", whole, "--space", space, "--out", out]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    run = subprocess.Popen([*command, "--trials", "3", "--jobs", "2"], env=environment)
    deadline = time.monotonic() + 900
    while not {"0000", "0001"} <= {name for name, count in looks(out).items() if count >= 2}:
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    run.send_signal(signal.SIGKILL)
    run.wait(timeout=600)
    runs = [out / "trials" / name for name, count in looks(out).items() if count >= 2]
    unfinished = [path for path in runs if not (path / "model").exists()]
    assert unfinished
    begun = [first_look(path) for path in unfinished]
    assert not (out / "trials.csv").exists()
    # The workers that were left behind stop by themselves, and their trials go on here.
    tune(config, out, space=space, trials=3, resume=True)
    assert cells(out) == cells(tmp_path / "alone")
    assert looks(out) == {"0000": 8, "0001": 8, "0002": 8}
    assert [first_look(path) for path in unfinished] == begun
    for number in range(3):
        model = f"trials/{number:04}/model/model.safetensors"
        assert (out / model).read_bytes() == (tmp_path / "alone" / model).read_bytes()
