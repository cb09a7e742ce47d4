"""Pretrained encoders that cannot be used, from the command line: a sentence, and nothing half-written."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from tiny_encoders import change_settings, write_encoder

ROWS = [f"{sign} harvest {number},{sign}" for sign in ("wheat", "crude", "bank") for number in range(8)]
SETTINGS = ("threads=1", "text.min_frequency=1", "features.min_documents=1", "decoder.hidden=8")
SETTINGS += ("encoder.hidden=8", "self_critical.epochs=0", "warm_start.epochs=1", "linear.c=[1]")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


Train = Callable[..., Any]


@pytest.fixture
def train(seq2set: Any, tmp_path: Path) -> Train:
    """Train with an encoder as `vectors`, as it is in the network (`none`), or tuned (`all`)."""
    corpus = tmp_path / "mine.csv"
    corpus.write_text("\n".join(["text,labels", *ROWS]) + "\n", encoding="utf-8")

    def call(way: str, encoder: Path, out: str = "run") -> Any:
        network = (f"encoder.pretrained={encoder}", "encoder.kind=transformer", f"encoder.tune={way}")
        chosen = (f"features.vectors={encoder}",) if way == "vectors" else network
        settings = [part for one in (*SETTINGS, *chosen) for part in ("--set", one)]
        model = "br" if way == "vectors" else "seq2set-simp"
        return seq2set("train", "--data", corpus, "--model", model, "--out", tmp_path / out, *settings)

    return call


def rename_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def cut_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def enlarge_vocabulary(folder: Path) -> None:
    """As many vectors as before, and settings that speak of more."""
    path = folder / "tokenizer.json"
    whole = json.loads(path.read_text())
    whole["model"]["vocab"] |= {f"more{number}": 18 + number for number in range(5)}
    path.write_text(json.dumps(whole))
    change_settings(folder, vocab_size=23)


def drop_layer(folder: Path) -> None:
    path = folder / "model.safetensors"
    kept = {name: one for name, one in load_file(path).items() if ".intermediate." not in name}
    save_file(kept, path, {"format": "pt"})


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "holds no weights: there is no"),
    "a pickle": (rename_weights, "has its weights in pytorch_model.bin, a format that can run code"),
    "cut weights": (cut_weights, "cannot be opened by transformers"),
    "weights that lack some": (drop_layer, "lacks 2 of the encoder's weights"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "there is no tokenizer.json in it"),
    "a tokenizer of less": (
        lambda folder: change_settings(folder, vocab_size=90),
        "tokenizer.json does not fit",
    ),
    "a tokenizer of more": (
        lambda folder: change_settings(folder, vocab_size=9),
        "has 18 sub-words, and config.json has vectors for 9: they do not belong together",
    ),
    "more sub-words than vectors": (
        enlarge_vocabulary,
        "model.safetensors does not fit config.json: embeddings.word_embeddings.weight is 18 x 8 there, and "
        "config.json asks for 23 x 8",
    ),
    "code": (lambda folder: change_settings(folder, auto_map={"AutoModel": "own.Net"}), "asks for code"),
    "a decoder": (lambda folder: change_settings(folder, is_decoder=True), "is not an encoder's"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", ["vectors", "none", "all"])
def test_it_is_refused(way: str, fault: str, train: Train, tmp_path: Path, own_cache: Path) -> None:
    change, sentence = FAULTS[fault]
    change(write_encoder(tmp_path / "encoder"))
    outcome = train(way, tmp_path / "encoder")
    assert outcome.code == 2
    assert sentence in outcome.err
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "run" / "model").exists()
    assert [path for room in ("vectors", "states") for path in (own_cache / room).rglob("*")] == []


@pytest.mark.parametrize("way", ["vectors", "none"])
@pytest.mark.parametrize("damage", ["cut", "foreign"])
def test_a_damaged_cache_costs_time_alone(
    damage: str, way: str, train: Train, tmp_path: Path, own_cache: Path
) -> None:
    assert train(way, write_encoder(tmp_path / "encoder")).code == 0
    files = sorted(own_cache.rglob("*.npy"))
    assert files
    if damage == "foreign":
        assert train(way, write_encoder(tmp_path / "another", seed=2), "other").code == 0
        others = sorted(set(own_cache.rglob("*.npy")) - set(files))
        for path, other in zip(files, others, strict=True):
            path.write_bytes(other.read_bytes())
    else:
        for path in files:
            path.write_bytes(path.read_bytes()[:-9])
    outcome = train(way, tmp_path / "encoder", "again")
    assert outcome.code == 0, outcome.err
    assert "that are cut short, damaged or another encoder's: " in outcome.err
    assert "what they should hold is computed again" in outcome.err
    models = [tmp_path / run / "model" / "model.safetensors" for run in ("run", "again")]
    assert models[0].read_bytes() == models[1].read_bytes()


@pytest.mark.parametrize("way", ["vectors", "none"])
def test_a_full_disk(
    way: str, train: Train, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without vectors there is nothing to learn from; states are computed in every epoch instead."""
    save = np.save

    def fill_up(stream: Any, array: Any, *given: Any, **named: Any) -> None:
        if array.dtype.names:  # what the cache writes
            stream.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(stream, array, *given, **named)

    monkeypatch.setattr(np, "save", fill_up)
    outcome = train(way, write_encoder(tmp_path / "encoder"))
    assert f"cannot write to {own_cache}" in outcome.err
    assert ": the disk is full" in outcome.err
    rooms = own_cache / "vectors", own_cache / "states"
    assert [path for room in rooms for path in room.rglob("*") if path.is_file()] == []
    if way == "vectors":
        assert outcome.code == 2  # as wherever there is no place to write to
        assert not (tmp_path / "run" / "model").exists()
    else:
        assert outcome.code == 0, outcome.err
        assert "the states are computed again in every epoch" in outcome.err
