from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import load_config
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.model_folder import renew_model
from seq2set.labels.rules import make_global_rule, make_top_rule


def test_tune_prints_the_best_settings_and_the_command_that_trains_with_them(
    seq2set, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    call = ("tune", "--data", small_corpus.folder, "--model", "br", "--out", out, "--seed", 3)
    outcome = seq2set(*call, "--trials", 2, "--metric", "macro_f1", "--set", "text.min_frequency=1")
    assert outcome.code == 0, outcome.err
    first, *settings, tables, model, command = outcome.out.splitlines()
    assert first.startswith("best macro_f1 ")
    assert first.endswith(" of 2, with")
    assert [line.split(" = ")[0] for line in settings] == [
        "  linear.c",
        "  features.ngrams",
        "  features.min_documents",
        "  features.max_terms",
        "  features.sublinear",
    ]
    assert tables == f"all trials are in {out / 'trials.md'}, their picture in {out / 'study.png'}"
    best = out / "best.toml"
    assert command == f"to train with these settings: seq2set train --config {best} --out RUN"
    found = load_config(best)
    assert (found.seed, found.decision.metric, found.text.min_frequency) == (3, "macro_f1", 1)
    assert "trial 1: macro_f1 " in outcome.err
    assert seq2set("train", "--config", best, "--out", tmp_path / "run").code == 0
    trained = (tmp_path / "run" / "model" / "model.safetensors").read_bytes()
    assert trained == (Path(model.split()[-1]) / "model" / "model.safetensors").read_bytes()
    again = seq2set(*call)
    assert (again.code, "holds a study already; pass --resume" in again.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--trials", "0"], "--trials is 0; it must be >= 1"),
        (["--jobs", "0"], "--jobs is 0; it must be >= 1"),
        (["--metric", "f1"], "decision.metric is 'f1'; it must be 'hamming_loss', 'micro_f1', 'macro_f1'"),
        (["--model", "bm"], "model 'bm' is not known, did you mean 'br'?"),
        (["--space", "nowhere.toml"], "the settings file nowhere.toml does not exist"),
    ],
)
def test_a_wrong_tune_is_one_sentence(seq2set, small_corpus, tmp_path: Path, arguments, sentence) -> None:
    outcome = seq2set("tune", "--data", small_corpus.folder, "--out", tmp_path / "study", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"seq2set: {sentence}")
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "study").exists()


def test_tune_needs_a_folder(seq2set, small_corpus: PreparedCorpus) -> None:
    outcome = seq2set("tune", "--data", small_corpus.folder)
    assert (outcome.code, outcome.err) == (
        2,
        "seq2set: no folder is named; pass --out with the folder of the study\n",
    )


def test_without_optuna_tune_says_how_to_install_it(
    seq2set, small_corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    outcome = seq2set("tune", "--data", small_corpus.folder, "--out", tmp_path / "study")
    assert (outcome.code, outcome.err) == (
        2,
        "seq2set: this needs the package 'optuna': pip install 'seq2set[tune]'\n",
    )


def test_tune_thresholds_prints_what_it_gains(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(br_run.path, run)
    nothing = make_global_rule(float(np.nextafter(np.float32(1), np.float32(2)))).to_dict()
    saved = json.loads((run / "model" / "config.json").read_text(encoding="utf-8"))
    renew_model(run, facts=saved["facts"] | {"rule": nothing}, metadata=saved["about"], card="")
    outcome = seq2set("tune", "--thresholds", run, "--kind", "top-k", "--metric", "micro_f1")
    assert outcome.code == 0, outcome.err
    rule, figures, _ = outcome.out.splitlines()
    assert rule == "rule: the best label of each text (top-k)"
    assert figures.startswith("micro_f1 on 32 documents: 0.0000 -> 0.8")


def test_tune_thresholds_keeps_a_rule_that_is_better(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(br_run.path, run)
    before = (run / "model" / "config.json").read_bytes()
    outcome = seq2set("tune", "--thresholds", run, "--kind", "top-k", "--metric", "micro_f1")
    assert outcome.code == 0, outcome.err
    # Every tenth document has no label, and a third of the others has two: one label per text is worse.
    rule, figures = outcome.out.splitlines()
    assert rule.startswith("the present rule is kept: every label that scores at least ")
    assert figures == "micro_f1 on 32 documents: 1.0000"
    assert "a rule that gives the best label of each text is not better: micro_f1 0.8" in outcome.err
    assert (run / "model" / "config.json").read_bytes() == before


def test_tune_thresholds_tries_stores_and_goes_back(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    run = Path(shutil.copytree(br_run.path, tmp_path / "my run"))
    saved = json.loads((run / "model" / "config.json").read_text(encoding="utf-8"))
    four = make_top_rule(4).to_dict()
    renew_model(run, facts=saved["facts"] | {"rule": four}, metadata=saved["about"], card="")
    command = ("tune", "--thresholds", run, "--kind", "global")
    tried = seq2set(*command, "--dry-run")
    assert tried.out.endswith("nothing was stored\n")
    assert json.loads(seq2set("evaluate", run, "--json").out)["rule"] == four
    stored = seq2set(*command)
    assert stored.out.endswith(f"back to the rule before: seq2set tune --thresholds '{run}' --undo\n")
    assert json.loads(seq2set("evaluate", run, "--json").out)["rule"] != four
    assert seq2set(*command, "--undo").out == "the rule is again: the 4 best labels of each text\n"
    assert json.loads(seq2set("evaluate", run, "--json").out)["rule"] == four
    again = seq2set(*command, "--undo")
    assert (again.code, "there is no rule to go back to" in again.err) == (2, True)


@pytest.mark.parametrize("option", ["--undo", "--dry-run"])
def test_options_for_thresholds_need_them(seq2set, tmp_path: Path, option: str) -> None:
    outcome = seq2set("tune", "--out", tmp_path / "study", option)
    said = f"seq2set: {option} is for thresholds; pass --thresholds with a model\n"
    assert (outcome.code, outcome.err) == (2, said)
