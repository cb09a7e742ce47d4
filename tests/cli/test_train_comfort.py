"""What a training says in the end, what it replaces, where it finds its corpus, and its cross-validation."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import load_config
from seq2set.config.catalog import METRICS
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.model_folder import load_model, read_metadata
from seq2set.models.tagger import Examples
from seq2set.workflows.cross_validation import assign_folds
from tiny_encoders import SIZE, write_encoder

BR = ("--model", "br", "--set", "linear.c=[1]", "--set", "features.min_documents=1")


def write_rows(path: Path, documents: int = 60) -> Path:
    words = ("wheat harvest", "crude barrels")
    rows = [f"{words[n % 2]} {n},{('grain', 'oil')[n % 2]},author {n // 6}" for n in range(documents)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["text,labels,author", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "mine.csv")


def test_it_ends_with_figures_and_what_to_type_next(seq2set, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "my run"
    outcome = seq2set("train", "--data", corpus, "--out", run, *BR)
    assert outcome.code == 0, outcome.err
    assert "validation, 6 documents, on which the model was tuned: hamming loss 0.0000" in outcome.err
    end = f"next:\n  seq2set evaluate '{run}'\n  seq2set predict '{run}' \"a text\"\n"
    assert outcome.err.endswith(end)


@pytest.mark.parametrize("model", ["br", "cc", "lp", "seq2set-simp"])
@pytest.mark.parametrize("text", ["", "word{number}"])
def test_texts_that_share_no_word_are_a_sentence(seq2set, tmp_path: Path, model: str, text: str) -> None:
    rows = [f"{text.format(number=number)},{('grain', 'oil')[number % 2]}" for number in range(60)]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["text,labels", *rows]) + "\n", encoding="utf-8")
    outcome = seq2set(
        "train", "--data", path, "--model", model, "--set", "threads=1", "--out", tmp_path / "run"
    )
    assert outcome.code == 2
    assert "seq2set: no word that is known stands in as many training documents as it must" in outcome.err


def test_without_a_test_split_it_says_what_can_be_measured(seq2set, tmp_path: Path) -> None:
    corpus, run = write_rows(tmp_path / "few.csv", 10), tmp_path / "run"
    outcome = seq2set("train", "--data", corpus, "--out", run, *BR, "--no-test")
    assert "validation, 1 document, on which the model was tuned" in outcome.err
    assert f"next:\n  seq2set evaluate {run} --split valid\n" in outcome.err
    assert seq2set("evaluate", run, "--split", "valid").code == 0


def test_it_says_which_labels_count_nothing_in_macro_f1(seq2set, corpus: Path, tmp_path: Path) -> None:
    with corpus.open("a", encoding="utf-8") as stream:
        stream.write("rye harvest,rye,author 99\n")
    call = ("train", "--data", corpus, "--out", tmp_path / "run", "--valid", "0", *BR)
    outcome = seq2set(*call)
    said = "; 1 of 3 labels has no document to measure on and counts 0 in macro-F1, such as 'rye'\n"
    assert (outcome.code, said in outcome.err) == (0, True)


def test_it_says_where_a_pretrained_encoder_could_be_used(
    seq2set, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    said = "a pretrained encoder is on this machine: --preset pretrained uses it, and is slower\n"
    call = ("train", "--data", corpus, "--out", tmp_path / "run", *BR, "--force")
    assert said not in seq2set(*call).err
    write_encoder(tmp_path / "cache" / "encoders" / "all-MiniLM-L6-v2")
    assert said in seq2set(*call).err
    assert said not in seq2set(*call, "--preset", "paper-small").err
    outcome = seq2set(*call, "--preset", "pretrained")
    assert (outcome.code, said in outcome.err) == (0, False)
    assert load_model(tmp_path / "run").state().fitted["vectors"]["encoder"] == "all-MiniLM-L6-v2"


def test_the_best_preset_is_three_networks_on_one_prior_with_vectors(
    seq2set, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    write_encoder(tmp_path / "cache" / "encoders" / "all-MiniLM-L6-v2")
    sizes = ("encoder.hidden=4", "decoder.hidden=4", "self_critical.epochs=0", "prior.folds=2", "threads=1")
    settings = [part for one in sizes for part in ("--set", one)]
    call = ("train", "--data", corpus, "--out", tmp_path / "run", "--preset", "best", *settings)
    outcome = seq2set(*call, "--model", "seq2set-simp")
    assert outcome.code == 0, outcome.err
    state = load_model(tmp_path / "run").state()
    weights = [name for name in state.tensors if name.endswith("/prior.scale")]
    assert weights == [f"network/{number}/prior.scale" for number in range(3)]
    card = (tmp_path / "run" / "model" / "README.md").read_text(encoding="utf-8")
    assert "| networks | 3, whose scores are averaged |" in card
    # Behind the terms of the one linear prior stand the numbers of a vector.
    assert len(state.tensors["prior/weights"]) == len(state.tensors["prior/terms"]) + SIZE


def test_an_ensemble_is_one_model(seq2set, corpus: Path, tmp_path: Path) -> None:
    sizes = (
        "encoder.hidden=4",
        "decoder.hidden=4",
        "self_critical.epochs=0",
        "threads=1",
        "text.min_frequency=1",
    )
    settings = [part for one in sizes for part in ("--set", one)]
    run = tmp_path / "run"
    call = ("train", "--data", corpus, "--out", run, "--model", "seq2set-simp", *settings)
    outcome = seq2set(*call, "--ensemble", "2")
    assert outcome.code == 0, outcome.err
    assert "network 2 of 2, with the seed 2" in outcome.err
    assert json.loads(seq2set("evaluate", run, "--json").out)["documents"] == 6
    refused = seq2set("export", run, "--to", "onnx")
    assert (refused.code, "only one network can be exported" in refused.err) == (2, True)
    both = seq2set(*call, "--force", "--ensemble", "2", "--set", "ensemble=3")
    assert (both.code, "both by --ensemble and by --set" in both.err) == (2, True)
    assert seq2set(*call, "--force").code == 0
    assert not (run / "members").exists()


def test_a_run_is_replaced_when_told_to(seq2set, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    call = ("train", "--data", corpus, "--out", run)
    assert seq2set(*call, *BR).code == 0
    (run / "notes.txt").write_text("mine", encoding="utf-8")
    again = seq2set(*call, "--model", "lp")
    assert again.code == 2
    assert "pass --resume to go on with it, --force to replace it, or name another folder" in again.err
    assert seq2set(*call, "--model", "lp", "--force").code == 0
    assert load_config(run / "config.toml").model == "lp"
    assert (run / "notes.txt").read_text(encoding="utf-8") == "mine"  # only what is the run's is replaced
    both = seq2set(*call, "--force", "--resume")
    assert (both.code, "give one of the two" in both.err) == (2, True)


def test_force_replaces_nothing_but_a_run(seq2set, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "model").write_text("dear", encoding="utf-8")
    outcome = seq2set("train", "--data", corpus, "--out", tmp_path / "letters", "--force", *BR)
    assert (outcome.code, "is not empty and holds no run; --force replaces runs only" in outcome.err) == (
        2,
        True,
    )
    assert (tmp_path / "letters" / "model").read_text(encoding="utf-8") == "dear"


def test_a_finished_run_has_nothing_to_do(seq2set, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert seq2set("train", "--data", corpus, "--out", run, *BR).code == 0
    outcome = seq2set("train", "--out", run, "--resume")
    assert outcome.code == 0
    said = f"nothing to do: {run} is finished already; pass --force to train it again\n"
    assert said in outcome.err
    assert f"seq2set evaluate {run}\n" in outcome.err


def test_a_stopped_run_goes_on_from_another_folder(
    seq2set, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    monkeypatch.chdir(tmp_path)
    assert seq2set("train", "--data", "mine.csv", "--out", "run", *BR).code == 0
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    for call in ([], ["--data", "mine.csv", *BR], ["--data", "../mine.csv", *BR], ["--data", "../mine.csv"]):
        shutil.rmtree(run / "model")
        outcome = seq2set("train", "--out", run, "--resume", *call)
        assert outcome.code == 0, outcome.err
        assert (run / "model").is_dir()
    assert json.loads(seq2set("evaluate", run, "--json").out)["documents"] == 6
    write_rows(tmp_path / "below" / "other.csv", 40)
    for more in (BR, ()):
        outcome = seq2set("train", "--out", run, "--resume", "--data", "other.csv", *more)
        assert (outcome.code, "data.corpus: mine.csv -> other.csv" in outcome.err) == (2, True)
        assert "model:" not in outcome.err


@pytest.mark.parametrize(
    "name",
    [
        r"back\slash\new.csv",
        'with "quotes".csv',
        "it's mine.csv",
        "two  spaces .csv",
        "naïve Übung.csv",
        "日本語 😀.csv",
        "del\x7f\ttab.csv",
    ],
)
def test_any_path_works(seq2set, tmp_path: Path, name: str) -> None:
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        pytest.skip("this locale has no such letters, and a file of that name is refused in a sentence")
    path, run = write_rows(tmp_path / name), tmp_path / f"run of {name}"
    outcome = seq2set("train", "--data", path, "--out", run, *BR)
    assert outcome.code == 0, outcome.err
    assert json.loads(seq2set("evaluate", run, "--json").out)["documents"] == 6


def test_a_run_goes_on_with_its_own_preset_named(seq2set, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert seq2set("train", "--data", corpus, "--out", run, *BR).code == 0
    for named in (["--preset", "compact"], ["--model", "br"]):
        shutil.rmtree(run / "model")
        outcome = seq2set("train", "--out", run, "--resume", *named)
        assert outcome.code == 0, outcome.err
    for named, change in (
        (["--preset", "linear"], "preset: compact -> linear"),
        (["--model", "cc"], "model: br -> cc"),
    ):
        outcome = seq2set("train", "--out", run, "--resume", *named)
        said = f"{run} was begun with other settings: {change}; resume with the same, or begin a new run"
        assert (outcome.code, outcome.err.endswith(f"seq2set: {said}\n")) == (2, True), outcome.err


def test_rows_that_are_labels_are_noticed(seq2set, tmp_path: Path) -> None:
    texts = [f"wheat harvest {n}" for n in range(40)]
    rows = [f"{text},{label}" for text in texts for label in ("grain", "trade")]
    (tmp_path / "rows.csv").write_text("\n".join(["text,labels", *rows]) + "\n", encoding="utf-8")
    said = "it looks like one row per label"
    outcome = seq2set("train", "--data", tmp_path / "rows.csv", "--out", tmp_path / "run", *BR)
    assert outcome.code == 0, outcome.err
    assert said in outcome.err
    assert "groupby('text', sort=False)['labels'].agg(';'.join)" in outcome.err
    checked = seq2set("data", "check", tmp_path / "rows.csv", "--json")
    codes = {one["code"]: one for one in json.loads(checked.out)["findings"]}
    assert (checked.code, codes["one-row-per-label"]["level"]) == (1, "error")
    joined = [f"{text},grain;trade" for text in texts]
    (tmp_path / "joined.csv").write_text("\n".join(["text,labels", *joined]) + "\n", encoding="utf-8")
    single = [f"{text} {label},{label}" for text in texts for label in ("grain", "trade")]
    (tmp_path / "single.csv").write_text("\n".join(["text,labels", *single]) + "\n", encoding="utf-8")
    for name in ("joined.csv", "single.csv"):
        assert said not in seq2set("data", "check", tmp_path / name).out


READING = [
    ["--no-test"],
    ["--test", "0.2"],
    ["--valid", "3"],
    ["--text", "title", "--labels", "tags"],
    ["--strip-html"],
]


@pytest.mark.parametrize("options", READING, ids=lambda options: options[0])
def test_options_for_files_are_refused_where_the_corpus_is_prepared(
    seq2set, small_corpus: PreparedCorpus, corpus: Path, tmp_path: Path, options: list[str]
) -> None:
    given = [one for one in options if one.startswith("--")]
    named = " and ".join(given)
    for call in (
        ("train", "--data", small_corpus.folder, "--out", tmp_path / "run", *BR),
        ("data", "check", small_corpus.folder),
        ("evaluate", tmp_path / "none", "--data", small_corpus.folder),
        ("tune", "--data", small_corpus.folder, "--out", tmp_path / "study"),
        ("distill", tmp_path / "none", "--data", small_corpus.folder, "--out", tmp_path / "run"),
        ("experiment", "main", "--data", small_corpus.folder, "--out", tmp_path / "table", "--dry-run"),
    ):
        outcome = seq2set(*call, *options)
        assert outcome.code == 2, outcome.err
        verb = "has" if len(given) == 1 else "have"
        assert f"{named} {verb} no effect on {small_corpus.folder}, a corpus that is prepared" in outcome.err
        assert f"seq2set data prepare NAME --from PATH {' '.join(given)}" in outcome.err
    known = seq2set("train", "--data", "reuters", "--out", tmp_path / "run", *BR, *options)
    assert (known.code, "no effect on reuters" in known.err) == (2, True)
    if "--text" not in options:
        assert seq2set("train", "--data", corpus, "--out", tmp_path / "own", *BR, *options).code == 0


def test_folds_measure_on_every_document_once(seq2set, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    call = ("train", "--data", corpus, "--out", run, "--folds", "3", *BR)
    outcome = seq2set(*call)
    assert outcome.code == 0, outcome.err
    lines = (run / "folds/predictions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert sorted(int(row["id"]) for row in rows) == list(range(1, 61))
    assert [sum(row["fold"] == fold for row in rows) for fold in (1, 2, 3)] == [20, 20, 20]
    found = read_metadata(run)["cross_validation"]
    assert (found["folds"], found["documents"], list(found["metrics"])) == (3, 60, list(METRICS))
    # Each fold's model sees "wheat" and "crude", so that every document is right.
    # By Wilson: 60 documents without an error do not say that there is none in others.
    bounds = [pytest.approx(0.9398, abs=1e-4), 1.0]
    assert found["metrics"]["micro_f1"] == {
        "mean": 1.0, "folds": [1.0, 1.0, 1.0], "together": 1.0, "interval": bounds,
    }  # fmt: skip
    card = (run / "model/README.md").read_text(encoding="utf-8")
    assert (
        "Cross-validation in 3 folds of 60 documents: micro-F1 1.0000 (95 % interval 0.9398 to 1.0000)"
        in card
    )
    assert "The test split was not looked at" not in card
    assert "3 folds, 60 documents, each predicted by a model of the others" in outcome.out
    assert f"seq2set serve {run}\n" in outcome.err
    assert "seq2set evaluate" not in outcome.err  # the model has learnt from all documents
    assert not (run / "folds" / "1").exists()
    shutil.rmtree(run / "model")
    (run / "folds" / "2.json").unlink()
    resumed = seq2set(*call, "--resume")
    assert resumed.code == 0
    assert "fold 2 of 3" in resumed.err
    assert "fold 1 of 3" not in resumed.err
    # As an earlier version left it, which may have shared the documents out otherwise.
    (run / "folds/count.json").write_text('{"folds": 3}', encoding="utf-8")
    shutil.rmtree(run / "model")
    anew = seq2set(*call, "--resume")
    assert "the folds are begun anew" in anew.err
    assert "fold 1 of 3" in anew.err


def test_a_number_of_folds_that_cannot_be(seq2set, corpus: Path, tmp_path: Path) -> None:
    grouped = ("--set", "data.group=author")
    for folds, extra, most in (("1", (), 60), ("61", (), 60), ("11", grouped, 10)):
        call = ("train", "--data", corpus, "--out", tmp_path / "run", "--folds", folds, *BR, *extra)
        outcome = seq2set(*call)
        said = f"--folds is {folds}; it must be from 2 to {most}, the groups or different texts there are"
        assert (outcome.code, outcome.err.endswith(f"seq2set: {said}\n")) == (2, True)


def test_folds_keep_groups_together(seq2set, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    grouped = ("--set", "data.group=author")
    assert seq2set("train", "--data", corpus, "--out", run, "--folds", "2", *BR, *grouped).code == 0
    lines = (run / "folds/predictions.jsonl").read_text(encoding="utf-8").splitlines()
    folds: dict[int, set[int]] = {}
    for row in map(json.loads, lines):
        folds.setdefault((int(row["id"]) - 1) // 6, set()).add(row["fold"])
    assert all(len(found) == 1 for found in folds.values())


def test_folds_share_out_each_label() -> None:
    labels = [("rare",) if n < 4 else ("common",) for n in range(20)]
    folds = assign_folds(Examples([f"text {n}" for n in range(20)], labels), 4, seed=1)
    assert np.bincount(folds).tolist() == [5, 5, 5, 5]
    assert sorted(folds[:4].tolist()) == [0, 1, 2, 3]
