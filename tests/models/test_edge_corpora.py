"""Corpora at the edges of what is sensible: all of them train, save and answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from seq2set.config.catalog import SEARCHES
from seq2set.config.schema import SearchSettings
from seq2set.core.errors import CorpusError
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.model_folder import load_model, save_model
from seq2set.models.network import build_network
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples, Tagger
from seq2set.nn.decoding.searches import run_search
from seq2set.nn.decoding.torch_decoder import TorchDecoder
from seq2set.text.reasons import EVERY_WORD
from seq2set.text.tfidf import encode_blocks
from tiny_networks import tiny_config, tiny_examples, trained

BOTH_PHASES = ("self_critical.epochs=1", "warm_start.epochs=1")


def trained_and_opened(folder: Path, examples: Examples, *settings: str, model: str = "seq2set") -> Tagger:
    tagger = trained(folder / "run", tiny_config(*BOTH_PHASES, *settings, model=model), examples)
    save_model(tagger, folder / "model", card="a card", metadata={})
    opened = load_model(folder / "model")
    for name in SEARCHES:
        found = opened.infer([*examples.texts[:3], "", "never seen"], Request(search=name, explain=True))
        assert np.isfinite(found.scores).all()
        assert ((found.scores >= 0) & (found.scores <= 1)).all()
    return opened


@pytest.mark.parametrize("prior", ["false", "true"])
def test_one_label(tmp_path: Path, prior: str) -> None:
    examples = Examples(["yes it is", "no", "it is"] * 3, [("one",), (), ("one",)] * 3)
    trained_and_opened(tmp_path, examples, f"prior.enabled={prior}")


def test_one_document(tmp_path: Path) -> None:
    trained_and_opened(tmp_path, Examples(["alone"], [("one",)]), "prior.enabled=true")


def test_twenty_thousand_labels(tmp_path: Path) -> None:
    sets = [tuple(f"label {place}" for place in range(start, start + 20)) for start in range(0, 20_000, 20)]
    texts = [f"word{number % 50} and more" for number in range(len(sets))]
    config = tiny_config("training.batch_size=50", "search.samples=2", model="seq2set-simp")
    tagger = trained(tmp_path, config, Examples(texts, sets), Examples(texts[:2], sets[:2]))
    assert tagger.network.max_labels == 40
    found = tagger.infer(texts[:3], Request(search="greedy"))
    assert found.scores.shape == (3, 20_000)


def test_a_prior_with_fewer_classifiers_than_labels(tmp_path: Path) -> None:
    examples = tiny_examples(24)
    tagger = trained_and_opened(tmp_path, examples, "prior.enabled=true", "prior.labels=3")
    assert isinstance(tagger, NeuralTagger)
    assert tagger.prior is not None
    assert tagger.prior.scorer.weights.shape[1] == 3
    read = tagger.prior.read(encode_blocks(tagger.words, examples.texts), examples.texts)
    assert read.margins.shape == (24, 4)
    found = tagger.infer(
        examples.texts, Request(search="greedy", min_labels=4, explain=True, words_per_label=EVERY_WORD)
    )
    assert found.evidence is not None
    # A label without a classifier rests on what the decoder attended to alone, not to half of its weight.
    for labels, evidence in zip(found.chosen, found.evidence, strict=True):
        place = list(labels).index(3)
        # Lighter function words are not named, which leaves half of one document's weight.
        assert sum(abs(word.weight) for word in evidence[place]) > 0.49


@torch.no_grad()
def test_a_decoder_that_learnt_nothing_does_not_go_through_twenty_thousand_labels() -> None:
    network = build_network(tiny_config(), 10, 20_000, max_labels=6)
    policies = network(torch.tensor([[2, 3]] * 4), torch.tensor([2] * 4))
    assert policies.final.memories[1].values.shape[1] == 7  # six labels and `eos`
    found = run_search(
        "marginal", TorchDecoder(policies.final), SearchSettings(samples=2), network.max_labels
    )
    assert found.scores.sum(1).max() < 6 + 1e-3
    assert all(
        len(row) == 6
        for row in run_search("greedy", TorchDecoder(policies.final), SearchSettings(), 6).sequences or ()
    )


def test_documents_of_one_word_and_of_five_thousand(tmp_path: Path) -> None:
    long = " ".join(f"w{number % 700}" for number in range(5000))
    examples = Examples(["short", long, "word", long], [("a",), ("b",), ("a",), ("b", "a")])
    tagger = trained_and_opened(tmp_path, examples, "encoder.max_words=5000")
    found = tagger.infer([long, "short"], Request(search="greedy", min_labels=1, explain=True))
    assert found.evidence is not None
    assert found.evidence[0][0]


def test_documents_without_labels_or_text(tmp_path: Path) -> None:
    examples = Examples(["", "a text", "", "b text", "..."], [(), (), ("x",), ("x",), ("y",)])
    trained_and_opened(tmp_path, examples, "prior.enabled=true")


def test_no_label_anywhere(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="the training split has no label at all"):
        trained(tmp_path, tiny_config(), Examples(["a", "b"], [(), ()]))


def test_a_label_that_training_never_saw_is_a_miss(tmp_path: Path) -> None:
    learn = Examples(["wheat here", "crude there"] * 6, [("grain",), ("oil",)] * 6)
    settings = ("warm_start.epochs=12", "training.decay=1.0", "decision.threshold=0.5")
    other = Examples(["here wheat wheat", "there crude crude"], [("grain",), ("oil",)])
    tagger = trained(tmp_path, tiny_config(*settings), learn, other)
    measured = Examples(["wheat here", "crude there"], [("grain", "new"), ("oil",)])
    result = evaluate_tagger(tagger, measured)
    assert (result.labels, result.unseen_labels) == (3, 1)
    # Both seen labels are found, the unseen one is not: 2 of 3.
    assert result.metrics["micro_recall"] == pytest.approx(2 / 3)
    assert result.metrics["micro_precision"] == 1
