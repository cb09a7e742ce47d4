from __future__ import annotations

from pathlib import Path

import pytest

from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments import EXPERIMENTS
from seq2set.experiments import run as everything


@pytest.fixture
def call(small_corpus: PreparedCorpus, tmp_path: Path) -> tuple[object, ...]:
    return (
        "experiment", "all", "--data", small_corpus.folder, "--out", tmp_path / "out",
        "--models", "br", "--set", "linear.c=[1]", "--set", "threads=1",
    )  # fmt: skip


def test_all_prints_a_line_an_experiment(seq2set, call, tmp_path: Path, monkeypatch) -> None:
    names = ("compare", "low-frequency")
    monkeypatch.setattr(everything, "EXPERIMENTS", {name: EXPERIMENTS[name] for name in names})
    outcome = seq2set(*call, "--option", "bands=2")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0].startswith("How the models compare: BR reaches a micro-F1 of ")
    claim = "The paper's claim that all methods perform poorly on rare labels is left open here: "
    assert lines[1].startswith(f"Rare labels and frequent ones: {claim}on the rarest labels (")
    assert f"the results are in {tmp_path / 'out' / 'index.html'}" in outcome.err


def test_a_dry_run_of_all_sums_up(seq2set, call, tmp_path: Path) -> None:
    outcome = seq2set(*call, "--dry-run", "--models", "br,seq2set-simp", "--set", "self_critical.epochs=0")
    assert outcome.code == 0, outcome.err
    assert "reward is left out: self_critical.epochs is 0" in outcome.err
    assert "cells: " in outcome.out
    assert "br-shuffled" in outcome.out
    assert "seq2set-simp-seed1" in outcome.out
    assert "time to go unknown with --jobs 1" in outcome.out
    assert not (tmp_path / "out" / "cells").exists()


def test_options_of_all(seq2set, call) -> None:
    outcome = seq2set(*call, "--option", "step=1")
    assert outcome.code == 2
    assert outcome.err.startswith("seq2set: option 'step' is not known, did you mean 'steps'?")
