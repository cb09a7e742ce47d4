"""`torchrun -m seq2set train`: two processes, one run folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from changing_corpora import all_documents, with_one_label_rare, write_prepared
from seq2set.config import Config, build_config
from seq2set.core.errors import InputError, WorkError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.workflows.train import train


def test_two_processes_make_one_run(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    small = (
        "encoder.embedding=4",
        "encoder.hidden=4",
        "encoder.layers=1",
        "decoder.hidden=4",
        "decoder.layers=1",
    )
    settings = [
        *small,
        "decoder.embedding=4",
        "warm_start.epochs=1",
        "self_critical.epochs=1",
        "prior.enabled=false",
    ]
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--standalone",
        "-m",
        "seq2set",
    ]
    command += [
        "train",
        "--data",
        str(small_corpus.folder),
        "--model",
        "seq2set-simp",
        "--out",
        str(tmp_path / "run"),
    ]
    command += [part for setting in settings for part in ("--set", setting)]
    environment = dict(os.environ) | {"OMP_NUM_THREADS": "1"}
    outcome = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, timeout=900
    )
    assert outcome.returncode == 0, outcome.stderr
    history = [json.loads(line) for line in (tmp_path / "run" / "history.jsonl").read_text().splitlines()]
    assert [record["phase"] for record in history] == ["warm-start", "self-critical"]
    assert (tmp_path / "run" / "model" / "manifest.json").is_file()


def test_a_run_that_nobody_begins(
    small_corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setattr("seq2set.workflows.train.JOIN_TIMEOUT", 0)
    config = Config.model_validate({"data": {"corpus": str(small_corpus.folder)}})
    with pytest.raises(WorkError, match="process 1 timed out after 0 s waiting for run .* to start"):
        train(config, tmp_path / "run")


def test_all_processes_stand_on_the_same_documents(
    small_corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "corpus"
    documents = all_documents(small_corpus)
    write_prepared(folder, documents)
    config = build_config(model="br", assignments=[f'data.corpus="{folder}"', "linear.c=[1]"])
    train(config, tmp_path / "run")
    monkeypatch.setenv("RANK", "1")
    train(config, tmp_path / "run")
    write_prepared(folder, with_one_label_rare(documents))
    with pytest.raises(InputError, match="run was begun on other documents: 96 to learn from, 32 to tune on"):
        train(config, tmp_path / "run")
