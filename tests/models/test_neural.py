"""A trained network in use, by all searches."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from pathlib import Path

import numpy as np
import pytest
import torch

from seq2set.config.catalog import SEARCHES
from seq2set.core.errors import InputError, ModelFolderError
from seq2set.core.hardware import limit_threads
from seq2set.inference.model_folder import load_model, save_model
from seq2set.labels.rules import make_top_rule
from seq2set.models import neural
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Inference, Request
from tiny_networks import tiny_config, tiny_examples, trained

TEXTS = [*tiny_examples(12, seed=5).texts, "", "nothing known", "wheat"]


@pytest.fixture(scope="module", params=["seq2set", "seq2set-simp"])
def tagger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NeuralTagger:
    settings = ("warm_start.epochs=12", "training.decay=1.0", "prior.enabled=true")
    torch.set_num_threads(1)
    return trained(tmp_path_factory.mktemp("run") / "run", tiny_config(*settings, model=request.param))


@pytest.mark.parametrize("search", SEARCHES)
def test_scores_are_probabilities_that_agree_with_the_sets(tagger: NeuralTagger, search: str) -> None:
    found = tagger.infer(TEXTS, Request(search=search))
    assert found.scores.shape == (len(TEXTS), 4)
    assert found.scores.dtype == np.float32
    assert ((found.scores >= 0) & (found.scores <= 1)).all()
    assert any(len(row) for row in found.chosen)
    for scores, row in zip(found.scores, found.chosen, strict=True):
        assert len(set(row)) == len(row)
        assert (scores[row] > 0).all()
    for scores, row in zip(found.scores[found.known], compress(found.chosen, found.known), strict=True):
        if search == "marginal":
            assert set(row) == set(np.flatnonzero(scores >= np.float32(tagger.rule.thresholds[0])))
        if search == "greedy":
            assert set(row) == set(np.flatnonzero(scores))


@pytest.mark.parametrize("search", SEARCHES)
def test_a_text_alone_is_as_in_any_batch(
    tagger: NeuralTagger, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request(search=search, explain=True)
    together = tagger.infer(TEXTS, request)
    backwards = tagger.infer(TEXTS[::-1], request)
    apart = [tagger.infer([text], request) for text in TEXTS]
    for number, alone in enumerate(apart):
        assert_same(together, number, alone, 0)
        assert_same(together, number, backwards, len(TEXTS) - 1 - number)
    for limit in ("WORDS_AT_A_TIME", "CELLS_AT_A_TIME"):  # however little fits into memory
        with monkeypatch.context() as patch:
            patch.setattr(neural, limit, 20)
            small = tagger.infer(TEXTS, request)
        for number in range(len(TEXTS)):
            assert_same(together, number, small, number)


def assert_same(one: Inference, row: int, other: Inference, place: int) -> None:
    assert np.allclose(one.scores[row], other.scores[place], atol=1e-5, rtol=0)
    assert one.chosen[row].tolist() == other.chosen[place].tolist()
    assert one.evidence is not None
    assert other.evidence is not None
    words = [
        [[word[:3] for word in label] for label in each]
        for each in (one.evidence[row], other.evidence[place])
    ]
    assert words[0] == words[1]


@pytest.mark.parametrize("search", SEARCHES)
def test_so_many_labels_and_no_others(tagger: NeuralTagger, search: str) -> None:
    free = tagger.infer(TEXTS, Request(search=search))
    for least, most in ((1, 1), (2, 3), (4, 4), (3, None), (9, None), (0, 1)):
        found = tagger.infer(TEXTS, Request(search=search, min_labels=least, max_labels=most))
        for row, before in zip(found.chosen, free.chosen, strict=True):
            wanted = max(min(least, 4), min(len(before), most or 4))
            assert len(set(row)) == len(row) == wanted
            kept = min(len(before), wanted)
            assert row[:kept].tolist() == before[:kept].tolist()
        assert (found.scores <= 1).all()


def test_labels_are_added_by_the_decoder_and_not_by_frequency(tagger: NeuralTagger) -> None:
    # One sign word a text; greedy gives its label first, so whatever was left empty is filled with it.
    signs = {"wheat": "grain", "crude": "oil", "tariff": "trade", "bank": "money"}
    silent = replace(tagger, network=stopping_at_once(tagger))
    assert not any(len(row) for row in silent.infer(list(signs), Request(search="greedy")).chosen)
    found = silent.infer(list(signs), Request(search="greedy", min_labels=1))
    loud = tagger.infer(list(signs), Request(search="greedy"))
    first = [row[0] for row in found.chosen]
    assert first == [row[0] for row in loud.chosen]
    assert len(set(first)) > 1
    assert all(0 < found.scores[text, label] < 0.5 for text, label in enumerate(first))


def stopping_at_once(tagger: NeuralTagger) -> neural.SetNetwork:
    """The same network, but far too fond of `eos`."""
    network = NeuralTagger.from_state(tagger.state()).network
    assert network.prior is not None
    with torch.no_grad():
        network.prior.offset[-1] += 30
    return network


def test_a_threshold_decides_marginals_only(tagger: NeuralTagger) -> None:
    for search in ("greedy", "beam", "set-beam"):
        sentence = f"threshold is 0.5, but search is '{search}'; it must be 'marginal' then"
        with pytest.raises(InputError, match=sentence):
            tagger.infer(TEXTS, Request(search=search, threshold=0.5))
    with pytest.raises(InputError, match="but search is 'greedy'"):  # the model's own search
        tagger.infer(TEXTS, Request(threshold=0.5))
    with pytest.raises(InputError, match="top_k is 2, but search is 'beam'; it must be 'marginal' then"):
        tagger.infer(TEXTS, Request(search="beam", top_k=2))
    assert tagger.infer(TEXTS, Request(search="greedy")).rule is None
    assert tagger.infer(TEXTS, Request(search="marginal")).rule == tagger.rule
    assert tagger.infer(TEXTS, Request(search="marginal", top_k=2)).rule == make_top_rule(2)
    everything = tagger.infer(TEXTS, Request(search="marginal", threshold=0.0))
    assert [len(row) for row in everything.chosen] == [4] * 12 + [0, 0, 4]  # two have no known word


def test_a_beam_of_one_is_greedy(tagger: NeuralTagger) -> None:
    config = tagger.config.model_copy(update={"search": tagger.config.search.model_copy(update={"width": 1})})
    narrow = replace(tagger, config=config)
    for search in ("beam", "set-beam"):
        found = narrow.infer(TEXTS, Request(search=search))
        greedy = narrow.infer(TEXTS, Request(search="greedy"))
        assert [row.tolist() for row in found.chosen] == [row.tolist() for row in greedy.chosen]


@pytest.mark.parametrize("search", SEARCHES)
def test_words_stand_where_they_are_said_to(tagger: NeuralTagger, search: str) -> None:
    texts = [text.title() + "!" for text in TEXTS]
    found = tagger.infer(texts, Request(search=search, explain=True, words_per_label=3))
    assert found.evidence is not None
    for text, labels, reasons in zip(texts, found.chosen, found.evidence, strict=True):
        assert len(reasons) == len(labels)
        for words in reasons:
            assert (len(words) > 0) == any(map(str.isalnum, text))
            assert all(text[word.start : word.end] == word.word for word in words)
            weights = [word.weight for word in words]
            reasons_for, against = ([one for one in weights if (one < 0) is sign] for sign in (False, True))
            assert weights == sorted(reasons_for, reverse=True) + sorted(against)
            assert len(reasons_for) <= 3 >= len(against)
            assert 0 not in weights
            assert sum(map(abs, weights)) <= 1 + 1e-5
            assert len({word.word.lower() for word in words}) == len(words)


def test_words_beyond_the_limit_are_evidence_of_the_prior_alone(tagger: NeuralTagger) -> None:
    encoder = tagger.config.encoder.model_copy(update={"max_words": 2})
    short = replace(tagger, config=tagger.config.model_copy(update={"encoder": encoder}))
    text = "wheat crude tariff bank"
    found = short.infer([text], Request(search="greedy", min_labels=1, explain=True))
    assert found.evidence is not None
    assert found.evidence[0][0]
    for label, words in zip(found.chosen[0], found.evidence[0], strict=True):
        added = next(short.prior.attributions(text, [int(label)])) if short.prior else np.zeros(4)
        places = [text.split().index(one) for word in words for one in word.word.split()]
        assert all(place < 2 or added[place] for place in places)


def test_a_word_is_known_where_the_model_reads_it(tagger: NeuralTagger) -> None:
    encoder = tagger.config.encoder.model_copy(update={"max_words": 2})
    short = replace(tagger, config=tagger.config.model_copy(update={"encoder": encoder}))
    texts = ["zebra quagga wheat", "zebra wheat", "zebra quagga okapi"]
    # Two words are read; a linear prior reads the whole text.
    assert short.infer(texts, Request()).known.tolist() == [short.prior is not None, True, False]
    few = tagger.config.encoder.model_copy(update={"words": 1})  # only the most frequent one has a vector
    poor = replace(tagger, config=tagger.config.model_copy(update={"encoder": few}), prior=None)
    if poor.network.prior is None:
        assert poor.infer([tagger.words.word(2), "wheat"], Request()).known.tolist() == [True, False]


def test_nothing_is_answered_with_nothing(tagger: NeuralTagger) -> None:
    found = tagger.infer([], Request(explain=True))
    assert (found.scores.shape, found.chosen, found.evidence) == ((0, 4), [], [])


@pytest.mark.parametrize("search", SEARCHES)
def test_saved_and_opened_it_is_the_same(tagger: NeuralTagger, search: str, tmp_path: Path) -> None:
    save_model(tagger, tmp_path / "model", card="a card", metadata={})
    again = load_model(tmp_path / "model")
    request = Request(search=search, explain=True)
    first, second = tagger.infer(TEXTS, request), again.infer(TEXTS, request)
    assert np.array_equal(first.scores, second.scores)
    assert [row.tolist() for row in first.chosen] == [row.tolist() for row in second.chosen]
    assert first.evidence == second.evidence
    assert again.rule == tagger.rule
    assert again.state().fitted == tagger.state().fitted


def test_weights_of_other_sizes_are_a_sentence(tagger: NeuralTagger, tmp_path: Path) -> None:
    decoder = tagger.config.decoder.model_copy(update={"hidden": 13})
    foreign = replace(tagger, config=tagger.config.model_copy(update={"decoder": decoder}))
    save_model(foreign, tmp_path / "model", card="a card", metadata={})
    with pytest.raises(ModelFolderError, match=r"can be opened: the tensor 'network/.*' is F32 of .*; "):
        load_model(tmp_path / "model")


@pytest.mark.parametrize(("setting", "threads"), [("auto", 1), (2, 2)])
def test_prediction_takes_the_threads_of_the_settings(
    tagger: NeuralTagger, setting: int | str, threads: int
) -> None:
    seen: list[int] = []
    hook = tagger.network.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
    with limit_threads(3):
        replace(tagger, config=tagger.config.model_copy(update={"threads": setting})).infer(
            ["wheat"], Request()
        )
        assert torch.get_num_threads() == 3
    hook.remove()
    assert seen == [threads]


def test_a_decoder_shows_the_sets_that_it_drew(tmp_path: Path) -> None:
    tagger = trained(tmp_path / "run", tiny_config("search.samples=300", model="seq2set-simp"))
    texts = tiny_examples(6, seed=5).texts
    found = tagger.draw_sets(texts)
    assert found.drawn.shape == (6, 300, len(tagger.labels))
    assert np.array_equal(found.scores, tagger.infer(texts, Request(search="marginal")).scores)
    # The scores are the same mean with less noise: 4.5 standard errors of 300 draws at the most.
    assert np.abs(found.drawn.mean(axis=1) - found.scores).max() < 0.13


def test_a_network_without_a_decoder_draws_no_sets(tmp_path: Path) -> None:
    tagger = trained(tmp_path / "run", tiny_config(model="cnn"))
    assert not tagger.draw_sets(["wheat"]).drawn.any()
