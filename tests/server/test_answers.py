from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from seq2set.labels.rules import make_label_rule
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request, is_decided_by_rule
from seq2set.server.answers import Answerer, LabelRequest
from seq2set.server.served_model import OpenedModel
from seq2set.text.vocabulary import Words
from tiny_networks import tiny_config, tiny_examples, trained

TEXTS = ["wheat harvest bushels of crude", "tariff exports surplus", ""]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> NeuralTagger:
    folder: Path = tmp_path_factory.mktemp("runs")
    return trained(folder / "run", tiny_config("search.name=set-beam", model="seq2set-simp"))


def plain(tagger, request: Request) -> list:  # type: ignore[no-untyped-def]
    return tagger.infer(TEXTS, request).suggestions(tagger.labels.names)


@pytest.mark.parametrize(
    "request_",
    [
        Request(explain=True),
        Request(threshold=0.9),
        Request(min_labels=2, explain=True),
        Request(top_k=1, explain=True),
    ],
)
def test_labels_are_the_same_with_and_without_candidates(served: OpenedModel, request_: Request) -> None:
    tagger = served.predictor.tagger
    answers = Answerer(tagger)(TEXTS, LabelRequest(**asdict(request_), candidates=3))
    assert [answer.labels for answer in answers] == plain(tagger, request_)


def test_candidates_are_the_best_labels_whatever_the_rule_says(served: OpenedModel) -> None:
    tagger = served.predictor.tagger
    best = [*plain(tagger, Request(top_k=3, explain=True))[:2], ()]  # the last text has no word
    answers = Answerer(tagger)(TEXTS, LabelRequest(threshold=1.0, explain=True, candidates=3))
    assert [answer.candidates for answer in answers] == best


def test_a_label_that_is_given_but_not_among_the_best_is_explained_and_follows_them(
    served: OpenedModel,
) -> None:
    tagger = served.predictor.tagger
    # Only the label that fits the text worst is given.
    worst = int(tagger.infer(TEXTS[:1], Request()).scores[0].argmin())
    thresholds = [1.0] * len(tagger.labels)
    thresholds[worst] = 0.0
    strict = replace(tagger, rule=make_label_rule(thresholds))  # type: ignore[type-var]
    (answer,) = Answerer(strict)(TEXTS[:1], LabelRequest(explain=True, candidates=2))
    (given,) = answer.labels
    assert given == strict.infer(TEXTS[:1], Request(explain=True)).suggestions(tagger.labels.names)[0][0]
    assert (answer.candidates or ())[2:] == (given,)


def test_a_linear_model_is_decided_by_its_rule_whatever_the_search(served: OpenedModel) -> None:
    tagger = served.predictor.tagger
    assert not tagger.decodes
    for search in (None, "greedy", "marginal"):
        assert is_decided_by_rule(tagger, Request(search=search))


def test_a_decoder_is_decided_by_its_search_and_candidates_come_from_marginals(network: NeuralTagger) -> None:
    answerer = Answerer(network)
    assert network.decodes
    requests = [Request(search=search) for search in (None, "greedy", "marginal")]
    assert [is_decided_by_rule(network, one) for one in requests] == [False, False, True]
    texts, names = tiny_examples(6).texts, network.labels.names
    answers = answerer(texts, LabelRequest(explain=True, candidates=4))
    own = network.infer(texts, Request(explain=True)).suggestions(names)
    wide = network.infer(texts, Request(0.0, 4, search="marginal", explain=True)).suggestions(names)
    assert [answer.labels for answer in answers] == own
    for answer, best in zip(answers, wide, strict=True):
        known = {one.label for one in best}
        others = tuple(one for one in answer.labels if one.label not in known)
        assert answer.candidates == (*best, *others)


@pytest.mark.parametrize("kind", ["br", "seq2set-simp"])
def test_a_text_is_tokenised_as_often_for_many_labels_as_for_one(
    served: OpenedModel, network: NeuralTagger, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    tagger = network if kind == "seq2set-simp" else served.predictor.tagger
    counts: list[int] = []
    encode, find_spans = Words._encode_chunks, Words.spans

    def count_encoded(self: Words, texts: Iterable[str]) -> object:
        return encode(self, (counts.append(1) or text for text in texts))  # type: ignore[func-returns-value]

    def count_spans(self: Words, text: str) -> object:
        counts.append(1)
        return find_spans(self, text)

    monkeypatch.setattr(Words, "_encode_chunks", count_encoded)
    monkeypatch.setattr(Words, "spans", count_spans)

    def count(labels: int) -> int:
        counts.clear()
        tagger.infer(TEXTS[:1], Request(top_k=labels, explain=True, search="marginal"))
        return len(counts)

    assert count(1) == count(4) > 0
