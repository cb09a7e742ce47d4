"""A text that stands more than once is never learnt from and measured on at the same time."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import build_config
from seq2set.inference.model_folder import read_metadata
from seq2set.models.tagger import Examples
from seq2set.workflows.cross_validation import assign_folds
from seq2set.workflows.train import record_provenance
from seq2set.workflows.training_corpus import open_training_corpus
from seq2set.workflows.training_data import pool_documents

HEAD = "text,labels,author\n"
BR = ("--model", "br", "--set", "features.min_documents=1")


def write_noise(path: Path, times: int, count: int = 60) -> Path:
    """Write texts that say nothing about their labels, each several times, in changing case."""
    draw = random.Random(3)
    rows = []
    for number in range(count):
        text = " ".join(f"n{draw.randrange(3000)}" for _ in range(15))
        labels = ";".join(draw.sample(["alpha", "beta", "gamma", "delta"], draw.choice([1, 2])))
        rows += [f"{text.upper() if time else text} ,{labels},{number % 15}{time}\n" for time in range(times)]
    draw.shuffle(rows)
    path.write_text(HEAD + "".join(rows), encoding="utf-8")
    return path


def read_folds(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "folds/predictions.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("options", [(), ("--group", "author")])
def test_no_fold_is_predicted_by_a_model_that_learnt_its_texts(
    seq2set, tmp_path: Path, options: tuple[str, ...]
) -> None:
    corpus, run = write_noise(tmp_path / "twice.csv", 2), tmp_path / "run"
    assert seq2set("train", "--data", corpus, "--out", run, "--folds", "3", *BR, *options).code == 0
    lines = corpus.read_text("utf-8").splitlines()[1:]
    texts = {str(number): line.partition(" ,")[0].lower() for number, line in enumerate(lines, start=1)}
    folds: dict[str, set[int]] = {}
    for row in read_folds(run):
        folds.setdefault(texts[row["id"]], set()).add(row["fold"])
    assert len(folds) == 60
    assert all(len(found) == 1 for found in folds.values())
    found = read_metadata(run)["cross_validation"]["metrics"]
    assert found["micro_f1"]["together"] < 0.65  # memorised, it would be 0.9


def test_more_folds_than_texts_are_refused(seq2set, tmp_path: Path) -> None:
    corpus = write_noise(tmp_path / "twice.csv", 2, count=10)
    outcome = seq2set("train", "--data", corpus, "--out", tmp_path / "run", "--folds", "11", *BR)
    said = "--folds is 11; it must be from 2 to 10, the groups or different texts there are\n"
    assert (outcome.code, outcome.err.endswith(said)) == (2, True)


def test_folds_share_out_the_labels_of_copied_texts() -> None:
    labels = [("rare",) if n < 8 else ("common",) for n in range(40)]
    folds = assign_folds(Examples([f"Text {n // 2}" for n in range(40)], labels), 4, seed=1)
    assert np.bincount(folds).tolist() == [10, 10, 10, 10]
    assert folds[::2].tolist() == folds[1::2].tolist()
    assert sorted(folds[:8:2].tolist()) == [0, 1, 2, 3]


def test_validation_has_no_text_of_the_training_split(seq2set, tmp_path: Path) -> None:
    corpus, run = write_noise(tmp_path / "twice.csv", 2), tmp_path / "run"
    outcome = seq2set("train", "--data", corpus, "--out", run, *BR)
    assert outcome.code == 0, outcome.err
    said = " ".join(outcome.err.split())
    note = r"(\d+) of (\d+) validation documents are left out: their texts stand in the training split"
    left_out, documents = map(int, re.search(note, said).groups())
    assert documents == 12
    assert 0 < left_out < 12
    assert f"validation, {12 - left_out} document" in said
    # Whoever measures or tunes on this split later has the same documents.
    found = json.loads(seq2set("evaluate", run, "--split", "valid", "--json").out)
    assert (found["documents"], found["trained_on"]) == (12 - left_out, left_out)
    assert f" on {12 - left_out} document" in seq2set("tune", "--thresholds", run, "--dry-run").out


def test_where_all_validation_texts_are_learnt_from_others_are_set_aside(seq2set, tmp_path: Path) -> None:
    corpus = write_noise(tmp_path / "twice.csv", 2)
    call = ("train", "--data", corpus, "--valid", corpus, "--test", "0", "--out", tmp_path / "run", *BR)
    outcome = seq2set(*call)
    assert outcome.code == 0, outcome.err
    said = " ".join(outcome.err.split())
    assert "120 of 120 validation documents are left out" in said
    assert "twice has no other validation documents: 12 training documents are set aside for tuning" in said
    assert read_metadata(tmp_path / "run")["validation"]["micro_f1"] < 0.65


def test_documents_that_are_set_aside_take_their_copies_with_them(seq2set, tmp_path: Path) -> None:
    corpus, run = write_noise(tmp_path / "thrice.csv", 3), tmp_path / "run"
    outcome = seq2set("train", "--data", corpus, "--out", run, "--valid", "0", "--test", "0", *BR)
    assert outcome.code == 0, outcome.err
    assert "18 training documents are set aside for tuning" in " ".join(outcome.err.split())
    assert read_metadata(run)["validation"]["micro_f1"] < 0.65


@pytest.mark.parametrize(
    ("setting", "fingerprint", "folds"),
    [
        ("seed=1", "790b2c8744d023ca", "020220010120211021002201022110220111211200111222021002200111"),
        (
            'data.group="author"',
            "407008de04e53cef",
            "211110102110002112111020210000211112010222001021000022222222",
        ),
        (
            'data.valid="0"',
            "79dd28bca50e1493",
            "101022010212020120211110202220111102201202102200100120102211",
        ),
    ],
)
def test_what_has_no_copies_is_shared_out_as_in_earlier_versions(
    tmp_path: Path, monkeypatch, setting: str, fingerprint: str, folds: str
) -> None:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    chosen = [f'data.corpus="{write_noise(tmp_path / "once.csv", 1)}"', setting]
    corpus = open_training_corpus(build_config(model="br", assignments=chosen).data)
    assert record_provenance(corpus).documents == fingerprint  # by which --resume knows a run's documents
    assert "".join(map(str, assign_folds(pool_documents(corpus, 3), 3, seed=1))) == folds
