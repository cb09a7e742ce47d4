"""What a linear model says beforehand of the memory that it will need."""

from __future__ import annotations

from pathlib import Path

import pytest

from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.core import hardware
from seq2set.core.progress import Silent
from seq2set.models.tagger import Examples, get_fit_function
from seq2set.text import memory_need
from seq2set.text.tfidf import TfidfFeatures, encode_blocks
from seq2set.text.vocabulary import Words
from tiny_networks import tiny_config, tiny_examples

TEXTS = ["wheat corn", "wheat corn", "wheat oil", "oil"]


def described(documents: int, *settings: str, labels: int = 2, margins: int = 0) -> str | None:
    config = build_config(
        model="br", assignments=["features.min_documents=1", "features.ngrams=1", *settings]
    )
    words = Words.build(TEXTS, **config.text.model_dump())
    blocks = list(encode_blocks(words, TEXTS))
    features = TfidfFeatures.fit(words, blocks, ngrams=1, min_documents=1)
    return memory_need.describe_need(config, features, blocks, documents, labels, margins=margins)


def free(monkeypatch: pytest.MonkeyPatch, folder: Path, size: int) -> None:
    (folder / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {size // 1024} kB\n")
    monkeypatch.setattr(hardware, "MEMORY_FILES", (folder / "meminfo", folder / "max", folder / "current"))


def test_what_will_be_needed_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, tmp_path, 8 * 2**30)
    # 7 terms in 4 documents: 1.75 each. In two processes 20 + 2 x 16 = 52 bytes each: 2^26 documents need
    # 5.6875 GB, and the weights of 2 labels on 3 terms 24 bytes.
    said = described(2**26, "workers=2")
    counted = "the linear model's features of 67,108,864 documents"
    assert said == f"{counted} will need about 5.7 GB of memory; 8.0 GB are free"
    # In one process 36 bytes: 3.9375 GB; of three labels a margin in 8 bytes each: 1.5 GB more.
    assert "about 5.4 GB of memory" in str(described(2**26, "workers=1", margins=3))
    # A million labels on 3 terms of 4 bytes: 0.01 GB, little.
    assert described(4, "workers=1", labels=10**6) is None


def test_what_to_do_where_it_is_more_than_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, tmp_path, 2**30)
    (tmp_path / "max").write_text(f"{2**30}\n")
    (tmp_path / "current").write_text(f"{2**29}\n")  # half of what a container may use
    said = str(described(2**26, "workers=1"))
    assert "about 3.9 GB of memory and 0.5 GB are free; if memory runs out, lower features.max_terms" in said
    assert "train a network without a linear prior (--model seq2seq" in said


def test_where_the_system_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "MEMORY_FILES", (tmp_path / "no", tmp_path / "no", tmp_path / "no"))
    assert str(described(2**26)).endswith("GB of memory")
    assert described(100) is None


class Notes(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_training_says_it_before_it_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_need, "WORTH_SAYING", 1)
    examples = Examples(TEXTS * 3, [["a"], ["a"], ["a", "b"], ["b"]] * 3)
    config = build_config(model="br", assignments=["features.min_documents=1"])
    progress = Notes()
    run = RunFolder.start(tmp_path / "br", config)
    get_fit_function("br")(config, examples, examples, run, progress)
    assert any("features of 12 documents will need about 0.0 GB" in note for note in progress.notes)
    progress = Notes()
    config = tiny_config("prior.enabled=true")
    run = RunFolder.start(tmp_path / "prior", config)
    get_fit_function("seq2set")(config, tiny_examples(), tiny_examples(12), run, progress)
    assert any("features of 20 documents will need about" in note for note in progress.notes)
