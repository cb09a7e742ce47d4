"""`train --from RUN`: a network that begins where another one ended."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import load_config
from seq2set.corpora.seen_texts import hash_texts
from seq2set.inference.model_folder import read_metadata, read_seen
from tiny_networks import TINY, tiny_examples

SMALL = [part for one in (*TINY, "training.validate_every=1000") for part in ("--set", one)]


def write(path: Path, count: int, seed: int, names: dict[str, str] | None = None) -> Path:
    examples = tiny_examples(count, seed)
    rows = [
        {"text": f"{text} {number}", "labels": [(names or {}).get(one, one) for one in labels]}
        for number, (text, labels) in enumerate(zip(examples.texts, examples.label_sets, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files, the second of which has the documents of the first and others."""
    place = tmp_path_factory.mktemp("from")
    first = write(place / "first.jsonl", 40, seed=1)
    second = write(place / "second.jsonl", 40, seed=2, names={"money": "finance"})
    second.write_text(second.read_text("utf-8") + first.read_text("utf-8"), encoding="utf-8")
    return place


@pytest.fixture
def first(seq2set, folder: Path) -> Path:
    run = folder / "first"
    if not run.exists():
        data = ("--data", folder / "first.jsonl", "--group", "text", "--encoding", "latin-1")
        outcome = seq2set("train", "--model", "seq2set-simp", "--out", run, *data, *SMALL)
        assert outcome.code == 0, outcome.err
    return run


def test_a_model_without_html_says_where_its_next_corpus_has_some(
    seq2set, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "few.jsonl").write_text((folder / "first.jsonl").read_text("utf-8"), encoding="utf-8")
    first, corpus = tmp_path / "first", tmp_path / "corpus"
    data = ("--data", tmp_path / "few.jsonl", "--strip-html")
    assert seq2set("train", "--model", "seq2set-simp", "--out", first, *data, *SMALL).code == 0
    second = folder / "second.jsonl"
    assert seq2set("data", "prepare", "raw", "--from", second, "--out", corpus).code == 0
    outcome = seq2set("train", "--from", first, "--data", corpus, "--out", tmp_path / "second")
    assert outcome.code == 0, outcome.err
    assert "those of raw are taken as they stand" in " ".join(outcome.err.split())


def test_it_has_the_settings_the_words_and_the_memory_of_the_other(
    seq2set, folder: Path, first: Path
) -> None:
    run = folder / "second"
    outcome = seq2set("train", "--from", first, "--data", folder / "second.jsonl", "--out", run)
    assert outcome.code == 0, outcome.err
    said = (
        "the training begins from seq2set-simp on first: 4 of its 4 labels go on, 0 without a document here"
    )
    assert said in outcome.err
    assert "1 are new" in outcome.err
    config = load_config(run / "config.toml")
    assert (config.encoder.hidden, config.model) == (8, "seq2set-simp")
    # Its column of groups is there; how another file is encoded is not known.
    assert (config.data.group, config.data.encoding) == ("text", "utf-8")
    words = [(one / "model" / "tokenizer.json").read_bytes() for one in (first, run)]
    assert words[0] == words[1]
    assert read_metadata(run)["training"]["began from"] == "seq2set-simp on first"
    assert "| began from | seq2set-simp on first |" in (run / "model" / "README.md").read_text("utf-8")
    seen, before = read_seen(run), read_seen(first)
    assert seen.trained is not None
    assert before.trained is not None
    assert set(before.trained) <= set(seen.trained)
    # None of the documents that the first one learnt from are tuned on.
    note = r"(\d+) of (\d+) documents to tune on are left out: seq2set-simp on first\s+learnt from them"
    left_out, documents = map(int, re.search(note, outcome.err).groups())
    assert json.loads((run / "run.json").read_text("utf-8"))["valid"] == documents - left_out > 0
    # Nor is its rule tuned on them later.
    tuned = seq2set("tune", "--thresholds", run, "--kind", "global", "--dry-run")
    assert tuned.code == 0, tuned.err
    assert f"on {documents - left_out} documents" in tuned.out + tuned.err
    assert f"{left_out} left out" in " ".join(tuned.err.split())
    measured = seq2set("evaluate", run, "--data", folder / "first.jsonl", "--json")
    printed = json.loads(measured.out)
    texts = [json.loads(line)["text"] for line in (folder / "first.jsonl").read_text("utf-8").splitlines()]
    trained = np.isin(hash_texts(texts), seen.trained).sum()
    assert printed["trained_on"] == trained >= len(before.trained)
    assert printed["documents"] == 40 - printed["left_out"] <= 40 - trained


def test_a_stopped_one_needs_the_other_no_more(seq2set, folder: Path, first: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(first, other)
    call = ("--data", folder / "second.jsonl", "--out", tmp_path / "run", "--set", "warm_start.epochs=2")
    assert seq2set("train", "--from", other, *call).code == 0
    weights = (tmp_path / "run" / "model" / "model.safetensors").read_bytes()
    shutil.rmtree(other)
    for name in ("model", "checkpoints"):  # as if it had been killed before its first look at validation
        shutil.rmtree(tmp_path / "run" / name)
    (tmp_path / "run" / "history.jsonl").unlink()
    again = seq2set("train", "--out", tmp_path / "run", "--resume")
    assert again.code == 0, again.err
    assert "the training begins from seq2set-simp on first" in again.err
    assert (tmp_path / "run" / "model" / "model.safetensors").read_bytes() == weights
    shutil.copytree(tmp_path / "run" / "model", other)
    mixed = seq2set("train", "--from", other, *call, "--resume")
    assert (mixed.code, f"{tmp_path / 'run'} was not begun from {other}" in mixed.err) == (2, True)


def test_a_column_of_groups_that_is_not_there_is_not_asked_for(
    seq2set, folder: Path, first: Path, tmp_path: Path
) -> None:
    lines = (folder / "first.jsonl").read_text("utf-8").replace('"text"', '"body"')
    (tmp_path / "body.jsonl").write_text(lines, encoding="utf-8")
    call = ("train", "--from", first, "--data", tmp_path / "body.jsonl", "--text", "body", "--out")
    refused = seq2set(*call, tmp_path / "typed", "--group", "text")
    assert (refused.code, "there is no column 'text'" in refused.err) == (2, True)
    assert seq2set(*call, tmp_path / "run").code == 0
    assert load_config(tmp_path / "run" / "config.toml").data.group == ""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--model", "cnn"), "--model is cnn; with --from, model and settings are those of"),
        (("--preset", "compact"), "--preset is compact; with --from"),
        (("--folds", "3"), "--from and --folds are both given"),
        (("--set", "encoder.hidden=9"), "encoder.hidden: 8 -> 9; leave them as they were"),
        (("--valid", "first.jsonl"), "was trained on all"),
        (("--from", "nowhere"), "nowhere does not exist; it must be a run or a model folder"),
    ],
)
def test_what_cannot_go_on_is_a_sentence(
    seq2set,
    folder: Path,
    first: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options,
    sentence: str,
) -> None:
    monkeypatch.chdir(folder)
    named = folder / "second.jsonl"
    if "--valid" in options:
        seen = [line for line in (folder / "first.jsonl").read_text("utf-8").splitlines() if line]
        learnt = write_learnt(first, seen, tmp_path / "learnt.jsonl")
        options = ("--valid", learnt)
        named = write(tmp_path / "third.jsonl", 40, seed=3)
    data = ("--data", named, "--out", tmp_path / "run")
    outcome = seq2set("train", "--from", first, *data, *options)
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err
    assert "Traceback" not in outcome.err


def write_learnt(run: Path, lines: list[str], path: Path) -> Path:
    """Write the documents that a run learnt from."""
    digests, trained = hash_texts(json.loads(one)["text"] for one in lines), read_seen(run).trained
    assert trained is not None
    kept = [line for line, digest in zip(lines, digests, strict=True) if digest in trained]
    path.write_text("\n".join(kept), encoding="utf-8")
    return path


def test_neither_itself_nor_a_linear_model(seq2set, folder: Path, first: Path, tmp_path: Path) -> None:
    data = ("--data", folder / "second.jsonl")
    same = seq2set("train", "--from", first, *data, "--out", first, "--force")
    assert (same.code, f"--from and --out both name {first}" in same.err) == (2, True)
    linear = tmp_path / "br"
    assert seq2set("train", "--model", "br", *data, "--out", linear, *SMALL).code == 0
    refused = seq2set("train", "--from", linear, *data, "--out", tmp_path / "run")
    assert (
        refused.code,
        "br on second is a linear model, which a training cannot begin from" in refused.err,
    ) == (
        2,
        True,
    )


def test_without_hashes_it_says_that_nothing_can_be_noticed(
    seq2set, folder: Path, first: Path, tmp_path: Path
) -> None:
    shutil.copytree(first / "model", tmp_path / "bare")
    (tmp_path / "bare" / "seen.safetensors").unlink()
    outcome = seq2set(
        "train", "--from", tmp_path / "bare", "--data", folder / "second.jsonl", "--out", tmp_path / "run"
    )
    assert outcome.code == 0, outcome.err
    assert "holds no hashes of the texts that it was trained on" in outcome.err
