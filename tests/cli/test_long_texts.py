"""Long texts from the command line: read in windows, and what is left out is said once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seq2set.inference.model_folder import load_model
from seq2set.models.predictions import Request
from tiny_encoders import write_encoder

SIGNS = {"grain": "wheat", "oil": "crude", "trade": "tariff"}
SETTINGS = ("threads=1", "text.min_frequency=1", "features.min_documents=1", "encoder.hidden=8")
SETTINGS += (
    "decoder.hidden=8",
    "self_critical.epochs=0",
    "warm_start.epochs=2",
    "linear.c=[1]",
    "prior.folds=2",
)
NETWORK = "texts {} more than 30 words; the network reads the first 30"
VECTORS = "more than 30 words; their vectors leave out"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Thirty texts of 6 words and as many of 42, whose sign is the last; a window has room for 16."""
    rows = [
        f"text{times}of{number} {'the bank its and ' * times}{SIGNS[label]},{label}"
        for times in (1, 10)
        for number, label in enumerate(list(SIGNS) * 10)
    ]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["text,labels", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("model", ["br", "seq2set-simp"])
def test_what_is_left_out_is_said_once(
    model: str, seq2set: Any, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    encoder, run = write_encoder(tmp_path / "encoder"), tmp_path / "run"
    own = (f"features.vectors={encoder}", "features.vector_words=30", "encoder.kind=transformer")
    own += (f"encoder.pretrained={encoder}", "encoder.max_words=30")
    settings = [part for one in (*SETTINGS, *own) for part in ("--set", one)]
    if model == "br":
        settings = settings[: -2 * 3]
    trained = seq2set("train", "--data", corpus, "--model", model, "--out", run, *settings)
    assert trained.code == 0, trained.err
    measured = seq2set("evaluate", run, "--split", "test")
    predicted = seq2set("predict", run, "--input", corpus, "--output", tmp_path / "out.csv")
    tuned = seq2set("tune", "--thresholds", run, "--dry-run")
    for outcome in (measured, predicted, tuned):
        assert outcome.code == 0, outcome.err
        assert outcome.err.count(VECTORS) == 1
        assert outcome.err.count("the network reads the first 30") == (model != "br")
    assert f"30 of 60 texts have {VECTORS} the rest (features.vector_words)" in predicted.err
    assert (NETWORK.format("have") in trained.err) == (model != "br")
    assert trained.err.count("the network reads the first 30") == (model != "br")
    assert trained.err.count("the encoder's states take") == (model != "br")


def test_a_text_is_read_to_the_word_that_is_set(seq2set: Any, corpus: Path, tmp_path: Path) -> None:
    """The sign is the 42nd word, in the third window of the encoder in the network."""
    encoder = write_encoder(tmp_path / "encoder")
    texts = [f"text {'the bank its and ' * 10}{sign}" for sign in ("wheat", "crude")]
    for words, differ in ((30, False), (42, True)):
        run = tmp_path / str(words)
        own = ("encoder.kind=transformer", f"encoder.pretrained={encoder}", f"encoder.max_words={words}")
        settings = [part for one in (*SETTINGS, *own, "prior.enabled=false") for part in ("--set", one)]
        outcome = seq2set("train", "--data", corpus, "--model", "seq2set-simp", "--out", run, *settings)
        assert outcome.code == 0, outcome.err
        assert ("the network reads the first" in outcome.err) == (not differ)
        one, other = load_model(run).infer(texts, Request(search="marginal")).scores
        assert (abs(one - other).max() > 1e-4) == differ
