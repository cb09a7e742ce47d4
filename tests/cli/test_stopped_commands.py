"""A command that is told to stop ends with one sentence, and takes with it what it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from seq2set.corpora.prepared import PreparedCorpus

TRAIN = """
import signal
import sys
from seq2set.baselines import linear_fitting
from seq2set.cli.app import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
linear_fitting.WORTH_PROCESSES = 0  # even for so few texts
sys.argv = ["seq2set", "train", *sys.argv[1:]]
main()
"""

MANY_FITS = f"linear.c={[round(0.01 * number, 2) for number in range(1, 400)]}"


def alive(group: int) -> list[str]:
    """Return the processes of a group that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = path.read_text()
        except OSError:  # ended meanwhile
            continue
        state, _, of_group = stat.rpartition(")")[2].split()[:3]
        if int(of_group) == group and state != "Z":
            found.append(stat)
    return found


def waits_for(what: str, condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="needs /proc to see processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_linear_training_that_is_told_to_stop_leaves_no_process_behind(
    small_corpus: PreparedCorpus, tmp_path: Path, number: signal.Signals
) -> None:
    run = tmp_path / "run"
    options = ["--data", str(small_corpus.folder), "--model", "br", "--out", str(run)]
    settings = ["--set", MANY_FITS, "--set", "threads=2"]
    with subprocess.Popen(
        [sys.executable, "-c", TRAIN, *options, *settings],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            waits_for("the first fit", lambda: any((run / "checkpoints").glob("*.safetensors")))
            assert len(alive(started.pid)) > 1  # those that fit, beside the command itself
            os.kill(started.pid, number)
            _, said = started.communicate(timeout=60)
            waits_for("its processes to end", lambda: not alive(started.pid))
        finally:  # nothing runs on where the test fails
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
    last = said.splitlines()[-1]
    assert last == "seq2set: stopped; nothing is lost that was saved, and a training goes on with --resume"
    assert started.returncode == 1
