"""Real runs of the command line, killed and stopped at random moments, against one that was left alone."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seq2set.core.errors import ConfigError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.workflows.train import train
from tiny_networks import TINY, tiny_config

SETTINGS = (
    *TINY,
    "encoder.dropout=0.2",
    "decoder.dropout=0.2",
    "warm_start.epochs=2",
    "self_critical.epochs=5",
    "training.validate_every=3",
    "training.decay=1.0",
)
"""96 documents in batches of 8: 12 updates an epoch, 4 looks, 28 looks in all."""


def started(corpus: PreparedCorpus, out: Path, *more: str) -> subprocess.Popen[str]:
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    command = [sys.executable, "-m", "seq2set", "train", "--data", str(corpus.folder), "--out", str(out)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "COLUMNS": "200"}
    return subprocess.Popen([*command, *settings, *more], stderr=subprocess.PIPE, text=True, env=environment)


def finished(run: subprocess.Popen[str], out: Path) -> bytes:
    _, complaints = run.communicate(timeout=900)
    assert run.returncode == 0, complaints
    return (out / "model" / "model.safetensors").read_bytes()


def looks(out: Path) -> int:
    history = out / "history.jsonl"
    return history.read_text().count("\n") if history.is_file() else 0


def wait_for_looks(run: subprocess.Popen[str], out: Path, count: int) -> None:
    deadline = time.monotonic() + 600
    while looks(out) < count:
        assert run.poll() is None, run.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_run_stopped_and_killed_at_random_moments_ends_with_the_same_weights(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    out, draw = tmp_path / "run", random.Random()
    alone = started(small_corpus, tmp_path / "alone")
    # The last moment leaves looks enough to be stopped at, however late this process gets a core.
    moments = (
        (signal.SIGKILL, 1, 3),
        (signal.SIGINT, 5, 7),
        (signal.SIGKILL, 9, 11),
        (signal.SIGTERM, 12, 14),
    )
    for number, first, last in moments:
        run = started(small_corpus, out, "--resume")
        wait_for_looks(run, out, draw.randint(first, last))
        time.sleep(draw.uniform(0, 0.05))  # somewhere between two checkpoints
        run.send_signal(number)
        _, said = run.communicate(timeout=600)
        assert not (out / "model").exists()
        if number != signal.SIGKILL:
            assert run.returncode == 1
            assert re.search(
                r"stopped after update \d+; checkpoint saved in \S+run; rerun with --resume", said
            )
            assert "rerun with --resume" in said
            assert "Traceback" not in said
    assert finished(started(small_corpus, out, "--resume"), out) == finished(alone, tmp_path / "alone")
    assert looks(out) == 28


def test_other_settings_are_refused_and_named(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    data = f'data.corpus="{small_corpus.folder}"'
    train(tiny_config(data), tmp_path)
    shutil.rmtree(tmp_path / "model")
    kept = (tmp_path / "checkpoints" / "last.safetensors").read_bytes()
    with pytest.raises(ConfigError) as refused:
        train(tiny_config(data, "objective.lambda=0.5", "seed=7"), tmp_path, resume=True)
    begun = f"{tmp_path} was begun with other settings: "
    assert refused.value.faults == (
        f"{begun}seed: 1 -> 7",
        f"{begun}objective.lambda: 0.95 -> 0.5; resume with the same, or begin a new run",
    )
    assert (tmp_path / "checkpoints" / "last.safetensors").read_bytes() == kept
