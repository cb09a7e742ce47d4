"""A command that is told to stop ends with one sentence, and takes with it what it has started."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel
from scipy.sparse import csr_matrix

from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.core.processes import end_pool
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.models.linear import classifiers
from seq2set.models.linear.classifiers import fit_linear

TRAIN = """
import signal
import sys
from seq2set.cli.app import main
from seq2set.models.linear import c_search, classifiers

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
classifiers.WORTH_PROCESSES = 0  # even for so few texts
c_search.is_better = lambda *_: True  # fit on and on, however late the signal comes
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
    until = time.monotonic() + 300  # on a busy machine; nobody waits so long elsewhere
    while not condition():
        assert time.monotonic() < until, f"timed out waiting for {what}"
        time.sleep(0.05)


def stopped_training(
    corpus: PreparedCorpus, run: Path, send: Callable[[int, int], None], number: signal.Signals
) -> tuple[int, str]:
    """Send a signal to a training that fits in processes; return its code and what it said."""
    options = ["--data", str(corpus.folder), "--model", "br", "--out", str(run)]
    settings = ["--set", MANY_FITS, "--set", "threads=2"]
    with subprocess.Popen(
        [sys.executable, "-c", TRAIN, *options, *settings],
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as started:
        try:
            fits = (run / "checkpoints").glob
            waits_for("the first fit", lambda: any(fits("*.safetensors")) or started.poll() is not None)
            assert started.poll() is None, started.communicate()  # it fits on and on
            assert len(alive(started.pid)) > 1  # those that fit, beside the command itself
            send(started.pid, number)
            _, said = started.communicate(timeout=300)
            waits_for("its processes to end", lambda: not alive(started.pid))
        finally:  # nothing runs on where the test fails
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
    return started.returncode, said


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="needs /proc to see processes")


@needs_proc
@pytest.mark.parametrize(
    ("send", "number"),
    [(os.kill, signal.SIGINT), (os.kill, signal.SIGTERM), (os.killpg, signal.SIGINT)],
    ids=["ctrl-c", "kill", "ctrl-c in a terminal, which all its processes hear"],
)
def test_a_linear_training_that_is_told_to_stop_leaves_no_process_behind_and_has_the_last_word(
    small_corpus: PreparedCorpus, tmp_path: Path, send: Callable[[int, int], None], number: signal.Signals
) -> None:
    code, said = stopped_training(small_corpus, tmp_path / "run", send, number)
    last = said.splitlines()[-1]
    assert last == "seq2set: stopped; rerun with --resume to continue"
    assert "Traceback" not in said
    assert "Warning" not in said
    assert code == 1


def test_an_interrupt_that_another_exception_swallows_is_one_all_the_same(
    seq2set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPython 3.11 makes a TypeError of one that comes amid an import."""

    def swallow(*_: object, **__: object) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        raise TypeError("expected a message argument")

    monkeypatch.setattr("seq2set.workflows.train.train", swallow)
    (tmp_path / "mine.csv").write_text("text,labels\nwords,a\n", encoding="utf-8")
    outcome = seq2set("train", "--data", tmp_path / "mine.csv", "--out", tmp_path / "run")
    assert (outcome.code, outcome.err) == (1, "seq2set: stopped; rerun with --resume to continue\n")


@pytest.mark.parametrize(
    ("verb", "function", "sentence"),
    [
        (
            "serve",
            "seq2set.server.listen.open_socket",
            " before the server was ready; no request was answered",
        ),
        ("bench", "seq2set.benchmarks.run_benchmark", "; what was being measured is not kept"),
        ("evaluate", "seq2set.workflows.evaluate.evaluate", " before it was done; run it again"),
    ],
)
def test_a_verb_that_cannot_be_resumed_does_not_speak_of_it(
    seq2set, br_run: RunFolder, monkeypatch: pytest.MonkeyPatch, verb: str, function: str, sentence: str
) -> None:
    monkeypatch.setattr(function, lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    arguments = {
        "bench": ["decode", "--quick"],
        "serve": [br_run.path],
        "evaluate": [br_run.path],
    }
    outcome = seq2set(verb, *arguments[verb])
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert outcome.err.startswith(f"seq2set: stopped{sentence}")
    assert "--resume" not in outcome.err


def test_a_ctrl_c_while_the_pool_starts_is_no_reason_for_a_warning(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """It is put off until the pool runs, and comes the moment that it does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    class Interrupted(Parallel):
        def __call__(self, jobs):
            fitted = super().__call__(jobs)
            signal.raise_signal(signal.SIGINT)
            return fitted

    monkeypatch.setattr("joblib.Parallel", Interrupted)
    monkeypatch.setattr(classifiers, "WORTH_PROCESSES", 0)
    config = build_config(model="br", assignments=["threads=2"])
    features, targets = csr_matrix(np.eye(40)), csr_matrix(np.ones((40, 20)) - np.eye(40, 20))
    try:
        with suppress(KeyboardInterrupt):
            fit_linear(config, features, targets, 1.0, lambda *_: None)
            pytest.fail("the signal went unheard")
    finally:
        signal.signal(signal.SIGINT, before)
        end_pool()
    gc.collect()  # joblib warns when the results that nobody took are thrown away
    assert [str(one.message) for one in recwarn] == []


@needs_proc
def test_what_a_killed_training_leaves_is_removed_without_a_word(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    def kill(group: int, number: int) -> None:
        """Kill the command and those that fit, and not those that tidy up."""
        for stat in alive(group):
            process = int(stat.split()[0])
            if b"resource_tracker" not in Path(f"/proc/{process}/cmdline").read_bytes():
                os.kill(process, number)

    code, said = stopped_training(small_corpus, tmp_path / "run", kill, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert "Warning" not in said
