"""Every verb that reads a plain file spells its columns alike."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from seq2set.config import load_config
from seq2set.config.run_folder import RunFolder

COLUMNS = ("--text", "abstract", "--labels", "tags", "--separator", "|", "--id", "key")
QUICK = ("--model", "br", "--set", "linear.c=[1]", "--set", "threads=1", "--set", "text.min_frequency=1")
TOPICS = {"grain": "wheat harvest", "oil": "crude barrels", "money": "bank rates"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    topics = list(TOPICS.items())
    rows = ["key,abstract,tags"]
    for number in range(60):
        (one, words), (other, more) = topics[number % 3], topics[(number + number // 3) % 3]
        rows.append(f"d{number},{words} {more} {number},{one}|{other}")
    path = tmp_path / "own.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_train_takes_the_columns_and_keeps_them_in_the_run(seq2set, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    outcome = seq2set("train", "--data", table, "--out", out, *QUICK, *COLUMNS)
    assert outcome.code == 0, outcome.err
    data = load_config(out / "config.toml").data
    assert (data.text, data.labels, data.separator, data.id) == ("abstract", "tags", "|", "key")
    answer = json.loads(seq2set("predict", out, "wheat harvest", "--json").out)
    assert answer["labels"][0]["label"] == "grain"
    found = seq2set("predict", out, "--input", table, "--text", "abstract", "--id", "key", "--json").out
    assert json.loads(found.splitlines()[0])["id"] == "d0"
    assert json.loads(seq2set("evaluate", out, "--json").out)["documents"] == 6


def test_settings_still_name_the_columns(seq2set, table: Path, tmp_path: Path) -> None:
    settings = ("data.text=abstract", "data.labels=tags", "data.separator=|", "data.id=key")
    call = [part for one in settings for part in ("--set", one)]
    outcome = seq2set("train", "--data", table, "--out", tmp_path / "run", *QUICK, *call)
    assert outcome.code == 0, outcome.err


def test_tune_and_experiment_take_the_columns(seq2set, table: Path, tmp_path: Path) -> None:
    tuned = seq2set("tune", "--data", table, "--out", tmp_path / "study", "--trials", 1, *QUICK, *COLUMNS)
    assert tuned.code == 0, tuned.err
    models = ("--models", *QUICK[1:])
    compared = seq2set("experiment", "compare", "--data", table, "--out", tmp_path / "e", *models, *COLUMNS)
    assert compared.code == 0, compared.err


def test_a_model_is_measured_and_tuned_on_a_file_with_other_columns(
    seq2set, br_run: RunFolder, table: Path, tmp_path: Path
) -> None:
    outcome = seq2set("evaluate", br_run.path, "--data", table, "--json", *COLUMNS)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["documents"] == 60
    shown = seq2set("evaluate", br_run.path, "--data", table, "--show", "1", *COLUMNS).out
    assert any(words in shown for words in TOPICS.values())
    shutil.copytree(br_run.path / "model", tmp_path / "model")
    tuned = seq2set("tune", "--thresholds", tmp_path / "model", "--data", table, "--kind", "global", *COLUMNS)
    assert tuned.code == 0, tuned.err
    assert "on 60 documents" in tuned.out


def test_data_verbs_take_the_columns(seq2set, table: Path) -> None:
    columns = COLUMNS[:6]
    assert json.loads(seq2set("data", "stats", table, *columns, "--json").out)["labels"] == 3
    assert json.loads(seq2set("data", "check", table, *columns, "--json").out)["documents"] == 60


@pytest.mark.parametrize(
    "verb",
    [
        ("train", "--data"),
        ("tune", "--data"),
        ("experiment", "compare", "--models", "br", "--data"),
        ("data", "stats"),
        ("data", "check"),
    ],
)
def test_a_column_that_is_not_there_is_named_with_those_that_are(
    seq2set, table: Path, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    out = () if verb[0] == "data" else ("--out", tmp_path / "out")
    outcome = seq2set(*verb, table, *out, "--text", "abstrct", "--labels", "tags")
    assert outcome.code == 2
    sentence = "there is no column 'abstrct', did you mean 'abstract'?; the columns are: key, abstract, tags"
    assert sentence in outcome.err


def test_predict_and_evaluate_name_the_columns_that_there_are(seq2set, br_run, table: Path) -> None:
    for verb in (("predict", br_run.path, "--input"), ("evaluate", br_run.path, "--data")):
        outcome = seq2set(*verb, table, "--text", "abstrct")
        assert outcome.code == 2
        assert "there is no column 'abstrct', did you mean 'abstract'?" in outcome.err
        assert "; the columns are: key, " in outcome.err


@pytest.mark.parametrize(
    ("verb", "option", "setting"),
    [
        ("train", ("--text", "abstract"), "data.text"),
        ("tune", ("--labels", "tags"), "data.labels"),
        ("tune", ("--seed", "1"), "seed"),
        ("train", (), "data.corpus"),
    ],
)
def test_a_setting_that_is_given_twice_is_one_sentence(
    seq2set, table: Path, tmp_path: Path, verb: str, option: tuple[str, ...], setting: str
) -> None:
    out = tmp_path / "out"
    outcome = seq2set(verb, "--data", table, "--out", out, *option, "--set", f"{setting}=x")
    named = option[0] if option else "--data"
    sentence = f"seq2set: {setting} is given both by {named} and by --set; give one of the two\n"
    assert (outcome.code, outcome.err) == (2, sentence)
    assert not out.exists()


def test_a_path_with_quotes_is_taken_as_it_is(seq2set, tmp_path: Path) -> None:
    outcome = seq2set("train", "--data", tmp_path / 'a "b" c.csv', "--out", tmp_path / "run")
    assert outcome.code == 2
    assert f'{tmp_path}/a "b" c.csv' in outcome.err
