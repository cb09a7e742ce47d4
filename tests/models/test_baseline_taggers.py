"""`cnn`, `cnn-rnn` and `seq2seq` in use, trained on the one loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from seq2set.config.catalog import SEARCHES
from seq2set.core.errors import InputError
from seq2set.inference.model_folder import load_model, save_model
from seq2set.models import neural
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Inference, Request
from tiny_networks import SIGNS, tiny_config, tiny_examples, trained

TEXTS = [*tiny_examples(8, seed=5).texts, "", "nothing known", "wheat"]
TRAINING = (
    "likelihood.epochs=25",
    "likelihood.decay=1.0",
    "likelihood.learning_rate=0.02",
    "training.batch_size=20",
)


@pytest.fixture(scope="module", params=["cnn", "cnn-rnn", "seq2seq", "seq2seq with a global embedding"])
def tagger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NeuralTagger:
    model, *option = request.param.split(" with ")
    settings = (*TRAINING, "prior.enabled=true", f"decoder.global_embedding={str(bool(option)).lower()}")
    torch.set_num_threads(1)
    examples = tiny_examples(40)
    return trained(tmp_path_factory.mktemp("run") / "run", tiny_config(*settings, model=model), examples)


def test_there_is_no_prior_even_where_the_settings_have_one(tagger: NeuralTagger) -> None:
    assert tagger.config.prior.enabled
    assert tagger.prior is None
    assert not [name for name in tagger.state().tensors if name.startswith("prior/")]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_text_alone_is_as_in_any_batch(
    tagger: NeuralTagger, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request(search=search, explain=True)
    together = tagger.infer(TEXTS, request)
    assert any(len(row) for row in together.chosen)
    for number, text in enumerate(TEXTS):
        assert_same(together, number, tagger.infer([text], request), 0)
    monkeypatch.setattr(neural, "WORDS_AT_A_TIME", 20)
    small = tagger.infer(TEXTS, request)
    for number in range(len(TEXTS)):
        assert_same(together, number, small, number)


def assert_same(one: Inference, row: int, other: Inference, place: int) -> None:
    assert np.allclose(one.scores[row], other.scores[place], atol=1e-5, rtol=0)
    assert one.chosen[row].tolist() == other.chosen[place].tolist()
    assert one.evidence is not None
    assert other.evidence is not None
    for first, second in zip(one.evidence[row], other.evidence[place], strict=True):
        assert {word.word for word in first} == {word.word for word in second}


@pytest.mark.parametrize("search", SEARCHES)
def test_every_label_has_its_words(tagger: NeuralTagger, search: str) -> None:
    found = tagger.infer(TEXTS, Request(search=search, explain=True, min_labels=2, words_per_label=3))
    assert found.evidence is not None
    for text, labels, reasons in zip(TEXTS, found.chosen, found.evidence, strict=True):
        assert len(reasons) == len(labels) >= 2
        for words in reasons:
            assert (len(words) > 0) == (text != "")
            assert all(text[word.start : word.end] == word.word for word in words)
            assert sum(abs(word.weight) for word in words) <= 1 + 1e-5


def test_a_label_rests_on_its_own_signs(tagger: NeuralTagger) -> None:
    examples = tiny_examples(40)
    found = tagger.infer(examples.texts, Request(explain=True, words_per_label=1))
    assert found.evidence is not None
    rows = zip(examples.texts, examples.label_sets, found.chosen, found.evidence, strict=True)
    hits = [
        bool({*words[0].word.split()} & {*SIGNS[tagger.labels.names[label]]})
        for text, right, labels, reasons in rows
        for label, words in zip(labels, reasons, strict=True)
        if tagger.labels.names[label] in right and len(text.split()) >= 4
    ]
    assert len(hits) > 30
    assert sum(hits) / len(hits) > 0.45  # by chance it would be one word of four or more


def test_saved_and_opened_it_is_the_same(tagger: NeuralTagger, tmp_path: Path) -> None:
    save_model(tagger, tmp_path / "model", card="a card", metadata={})
    again = load_model(tmp_path / "model")
    first, second = tagger.infer(TEXTS, Request(explain=True)), again.infer(TEXTS, Request(explain=True))
    assert np.array_equal(first.scores, second.scores)
    assert first.evidence == second.evidence
    assert again.rule == tagger.rule


def test_a_rule_decides_where_there_is_no_decoder_whatever_the_search(tagger: NeuralTagger) -> None:
    if tagger.network.decodes:
        with pytest.raises(
            InputError, match="threshold is 0.5, but search is 'greedy'; it must be 'marginal'"
        ):
            tagger.infer(TEXTS, Request(threshold=0.5))
        return
    assert tagger.config.search.name == "greedy"
    everything = tagger.infer(TEXTS, Request(threshold=0.0))
    assert [len(row) for row in everything.chosen] == [4] * 8 + [0, 0, 4]  # two have no known word
    scores = [tagger.infer(TEXTS, Request(search=search)).scores for search in SEARCHES]
    assert all(np.array_equal(scores[0], one) for one in scores[1:])
    found = tagger.infer(TEXTS, Request())
    assert found.rule == tagger.rule
    given = tagger.rule.decide(found.scores) & found.known[:, None]
    for row, scored, expected in zip(found.chosen, found.scores, given, strict=True):
        assert set(row) == set(np.flatnonzero(expected))
        assert scored[row].tolist() == sorted(scored[row], reverse=True)
