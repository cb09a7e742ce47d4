"""A model is measured and tuned on another file: which options of its training hold there."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

BR = ("--model", "br", "--set", "features.min_documents=1")
WORDS = {"is_alpha": "café", "is_beta": "über", "is_gamma": "señor"}


def draw_documents(seed: int, count: int) -> list[tuple[str, list[str], str]]:
    """Draw texts that name their labels by words with accents; one author writes ten of them alike."""
    draw, found = random.Random(seed), []
    for number in range(count):
        labels = draw.sample(sorted(WORDS), draw.choice([1, 2]))
        words = [WORDS[one] for one in labels if draw.random() < 0.9] + [f"w{seed}n{number}"]
        found.append((" ".join(words), labels, f"author {seed} {number // 10}"))
    return found


def write_cells(path: Path, seed: int, count: int, encoding: str = "utf-8", *, author: bool = True) -> Path:
    rows = [f"{text},{';'.join(labels)},{name}\n" for text, labels, name in draw_documents(seed, count)]
    path.write_text(f"text,labels,{'author' if author else 'else'}\n" + "".join(rows), encoding=encoding)
    return path


def write_columns(path: Path, seed: int, count: int, columns: list[str]) -> Path:
    rows = [
        f"{text},{','.join(str(int(one in labels)) for one in columns)}\n"
        for text, labels, _ in draw_documents(seed, count)
    ]
    path.write_text(f"text,{','.join(columns)}\n" + "".join(rows), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))


def measure(seq2set, *call: object) -> dict:
    outcome = seq2set("evaluate", *call, "--json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_the_groups_of_the_training_are_looked_for_in_another_file(seq2set, tmp_path: Path) -> None:
    mine, run = write_cells(tmp_path / "mine.csv", 1, 200), tmp_path / "run"
    assert seq2set("train", "--data", mine, "--group", "author", "--out", run, *BR).code == 0
    other = ("--data", write_cells(tmp_path / "other.csv", 2, 120))
    named, found = measure(seq2set, run, *other, "--group", "author"), measure(seq2set, run, *other)
    assert found["intervals"] == named["intervals"]
    assert measure(seq2set, run, *other, "--group", "")["intervals"] != named["intervals"]
    accept = ("tune", "--thresholds", run, "--accept", "precision=0.8", "--dry-run", *other)
    assert seq2set(*accept).out == seq2set(*accept, "--group", "author").out
    # Where there is no such column, there are no groups, as before.
    assert measure(seq2set, run, "--data", write_cells(tmp_path / "bare.csv", 2, 120, author=False))[
        "intervals"
    ]


def test_another_file_need_not_have_the_encoding_of_the_training(seq2set, tmp_path: Path) -> None:
    mine, run = write_cells(tmp_path / "mine.csv", 1, 200, "latin-1"), tmp_path / "run"
    assert seq2set("train", "--data", mine, "--encoding", "latin-1", "--out", run, *BR).code == 0
    modern, same = (
        write_cells(tmp_path / "utf.csv", 2, 120),
        write_cells(tmp_path / "l.csv", 2, 120, "latin-1"),
    )
    found = measure(seq2set, run, "--data", modern)["micro_f1"]
    assert found == measure(seq2set, run, "--data", same, "--encoding", "latin-1")["micro_f1"] > 0.8
    for call in (("evaluate", run), ("tune", "--thresholds", run, "--dry-run")):
        assert seq2set(*call, "--data", modern).code == 0
        refused = seq2set(*call, "--data", same)
        assert (refused.code, "pass --encoding" in refused.err) == (2, True), refused.err
    assert measure(seq2set, run, "--data", mine)["documents"] == 20  # its own file is read as it was


LABELS = sorted(WORDS)


@pytest.fixture
def run(seq2set, tmp_path: Path) -> Path:
    mine = write_columns(tmp_path / "mine.csv", 1, 200, LABELS)
    call = ("train", "--data", mine, "--label-columns", "is_*", "--out", tmp_path / "run", *BR)
    assert seq2set(*call).code == 0
    return tmp_path / "run"


@pytest.mark.parametrize("verb", [("evaluate",), ("tune", "--thresholds"), ("tune", "--calibrate")])
def test_a_label_without_a_column_is_not_a_label_that_no_document_has(
    seq2set, tmp_path: Path, run: Path, verb: tuple[str, ...]
) -> None:
    lacking = write_columns(tmp_path / "lacking.csv", 2, 200, LABELS[1:])
    refused = seq2set(*verb, run, "--data", lacking)
    said = (
        f"{lacking}: the file has no column for 1 label of the model: is_alpha; add an empty one where no "
        "document has the label, or name those there are: --label-columns"
    )
    assert (refused.code, said in refused.err) == (2, True), refused.err
    for typed in ("is_*", "is_beta,is_gamma"):
        told = seq2set(*verb, run, "--data", lacking, "--label-columns", typed)
        assert told.code == 0, told.err
        if verb == ("evaluate",):
            said = "1 of 3 labels has no document to measure on and counts 0 in macro-F1, such as 'is_alpha'"
            assert said in " ".join(told.out.split())


def test_columns_for_all_labels_are_measured_without_a_word(seq2set, tmp_path: Path, run: Path) -> None:
    for name, columns in (("all", LABELS), ("more", [*LABELS, "is_new"])):
        other = write_columns(tmp_path / f"{name}.csv", 2, 120, columns)
        outcome = seq2set("evaluate", run, "--data", other)
        assert (outcome.code, "no column" in outcome.err) == (0, False)
    # In JSON, what is left out is what a document does not have.
    rows = [{"text": text} | dict.fromkeys(labels, 1) for text, labels, _ in draw_documents(2, 120)]
    sparse = tmp_path / "sparse.jsonl"
    sparse.write_text("".join(json.dumps(row) + "\n" for row in rows[:1]), encoding="utf-8")
    assert measure(seq2set, run, "--data", sparse)["documents"] == 1


def test_a_file_without_any_column_for_labels_is_told_of_as_such(seq2set, tmp_path: Path, run: Path) -> None:
    cells = write_cells(tmp_path / "cells.csv", 3, 40)
    refused = seq2set("evaluate", run, "--data", cells)
    assert refused.code == 2
    assert "there is no column 'is_*'; the columns are: text, labels, author" in refused.err


def test_a_corpus_with_html_is_told_of_to_a_model_without(seq2set, tmp_path: Path) -> None:
    mine = write_cells(tmp_path / "mine.csv", 1, 200)
    mine.write_text(mine.read_text(encoding="utf-8").replace(",is_", "<br>,is_"), encoding="utf-8")
    run = tmp_path / "run"
    assert seq2set("train", "--data", mine, "--strip-html", "--out", run, *BR).code == 0
    said = "the model reads texts without HTML, and those of other are taken as they stand"
    for name, options, told in (("as-is", (), True), ("stripped", ("--strip-html",), False)):
        folder = tmp_path / name
        made = seq2set("data", "prepare", "other", "--from", mine, "--out", folder, *options)
        assert made.code == 0, made.err
        measured = seq2set("evaluate", run, "--data", folder, "--include-seen")
        tuned = seq2set("tune", "--thresholds", run, "--data", folder, "--dry-run")
        for outcome in (measured, tuned):
            heard = " ".join((outcome.out + outcome.err).split())
            assert (said in heard) is told, heard
