"""Vectors of texts: windows, what is left out, the cache, and models that stand on them."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import Config, build_config
from seq2set.core.errors import InputError, OutputError
from seq2set.core.progress import Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.model_folder import load_model
from seq2set.models.predictions import Request
from seq2set.models.tagger import count_cut_texts
from seq2set.nn.pretrained import vector_features
from seq2set.nn.pretrained.encoder_folder import find_encoder
from seq2set.nn.pretrained.pooled_vectors import PooledEncoder
from seq2set.nn.pretrained.vector_features import (
    Standard,
    TextVectors,
    VectorFeatures,
    describe_vectors,
    restore_vectors,
)
from seq2set.text.tfidf import TfidfFeatures
from seq2set.text.vocabulary import Words
from seq2set.workflows.export import export_onnx
from seq2set.workflows.train import train
from tiny_encoders import SIZE, write_encoder

TEXTS = ["wheat harvest was good", "crude barrels and a tariff", "", "exports " * 50]


class Notes(Silent):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def note(self, sentence: str) -> None:
        self.sentences.append(sentence)


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TextVectors:
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    return TextVectors(find_encoder(str(write_encoder(tmp_path / "encoder"))), 30)


def test_a_text_has_its_vector_whatever_stands_beside_it(vectors: TextVectors) -> None:
    together = vectors.compute(TEXTS)
    assert together.shape == (4, SIZE)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(vectors.compute([text])[0], vector, atol=1e-5)
    assert np.abs(together[0] - together[1]).max() > 0.01


def test_long_texts_are_read_to_the_word_that_is_set(vectors: TextVectors) -> None:
    encoder = PooledEncoder(vectors.encoder.path)
    words = ["wheat"] * 30 + ["bank"] * 20
    pooled = encoder.embed([" ".join(words), " ".join(words[:30]), " ".join(words[:40])], 30)
    assert pooled.cut.tolist() == [20, 0, 10]
    np.testing.assert_allclose(pooled.vectors[0], pooled.vectors[1], atol=1e-5)
    # Beyond one window (18 sub-words here) the rest still counts.
    other = encoder.embed([" ".join(words)], 50)
    assert np.abs(other.vectors[0] - pooled.vectors[0]).max() > 0.01


def test_a_model_without_a_record_of_its_windows_reads_as_it_did(vectors: TextVectors) -> None:
    standard = Standard(np.zeros(SIZE, np.float32), np.ones(SIZE, np.float32))
    terms = TfidfFeatures(
        Words.build(TEXTS, **Config().text.model_dump()), 1, True, 0.0, np.array([1]), np.ones(1, np.float32)
    )
    encoder = vectors.encoder
    recorded = describe_vectors(VectorFeatures.extend(terms, TextVectors(encoder, 30, 9), standard))[
        "vectors"
    ]
    tensors = {"mean": standard.mean, "factor": standard.factor}
    for facts, window in ((recorded, 9), ({k: v for k, v in recorded.items() if k != "window"}, 128)):
        restored = restore_vectors(terms, tensors, facts, "")
        assert isinstance(restored, VectorFeatures)
        assert restored.vectors == TextVectors(encoder, 30, window)
    long = [" ".join(TEXTS[:2] * 3)]
    assert np.abs(TextVectors(encoder, 30, 9).compute(long) - vectors.compute(long)).max() > 1e-3


def test_what_is_computed_is_kept_and_what_is_cut_is_said(
    vectors: TextVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Notes()
    first = vectors.prepare(TEXTS, 1, notes)
    assert notes.sentences == [
        "1 of 4 texts have more than 30 words; their vectors leave out 20 words (features.vector_words)"
    ]
    monkeypatch.setattr(vector_features, "_embed_alone", None)  # nothing is left to compute
    again = TextVectors(vectors.encoder, 30)
    np.testing.assert_array_equal(again.prepare(TEXTS, 1, notes), first)
    np.testing.assert_array_equal(again.compute(TEXTS), first)


@pytest.mark.parametrize("damage", ["cut", "changed", "foreign", "other"])
def test_a_damaged_cache_is_noticed(damage: str, vectors: TextVectors, tmp_path: Path) -> None:
    first = vectors.prepare(TEXTS, 1, Silent())
    (path,) = vectors.cache.folder.glob("*.npy")
    whole = path.read_bytes()
    if damage == "foreign":
        other = TextVectors(find_encoder(str(write_encoder(tmp_path / "other", seed=2))), 30)
        other.prepare(TEXTS, 1, Silent())
        whole = next(other.cache.folder.glob("*.npy")).read_bytes()
    elif damage == "other":
        with path.open("wb") as stream:
            np.save(stream, np.zeros(3))
        whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-9], "changed": whole[:-1] + b"\x77"}.get(damage, whole))
    notes, again = Notes(), TextVectors(vectors.encoder, 30)
    np.testing.assert_allclose(again.prepare(TEXTS, 1, notes), first, atol=1e-5)
    assert "cut short, damaged or another encoder's: 1;" in notes.sentences[0]
    assert TextVectors(vectors.encoder, 30).cache.unusable == []


def test_a_full_disk(vectors: TextVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    def save(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "save", save)
    with pytest.raises(OutputError, match="cannot write to .*: the disk is full"):
        vectors.prepare(TEXTS, 1, Silent())
    assert not list(vectors.cache.folder.iterdir())


@pytest.mark.parametrize("model", ["br", "cc", "lp", "seq2set-simp"])
def test_a_model_with_vectors(model: str, small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "encoder")
    settings = [
        f'data.corpus="{small_corpus.folder}"',
        f'features.vectors="{encoder}"',
        "linear.c=[1]",
        "encoder.hidden=8",
        "decoder.hidden=8",
        "warm_start.epochs=1",
        "self_critical.epochs=0",
        "threads=1",
    ]
    run = train(build_config(model=model, assignments=settings), tmp_path / "run")
    texts = [document.text for document in next(iter(small_corpus.split("test").iter_batches(5)))]
    opened = load_model(run.path)
    scores = opened.infer(texts, Request(explain=True)).scores
    facts = dict(opened.state().fitted["vectors"])
    assert facts == {
        "encoder": str(encoder),
        "sha256": find_encoder(str(encoder)).sha256,
        "revision": "",
        "words": 100,
        "window": 256,
    }
    np.testing.assert_allclose(load_model(run.path).infer(texts, Request()).scores, scores, atol=1e-5)
    cut = count_cut_texts(opened, ["wheat " * 101, "wheat " * 100])
    assert cut == {"more than 100 words; their vectors leave out the rest (features.vector_words)": 1}
    if model == "seq2set-simp":
        with pytest.raises(InputError, match="features.vectors is set, and .* not exported"):
            export_onnx(run.path)
    write_encoder(encoder, seed=2)
    with pytest.raises(InputError, match="is not the one that the model was trained with"):
        load_model(run.path)
