"""What every model keeps to, whatever it is made of: one suite over the registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import Config
from seq2set.config.catalog import MODELS, SEARCHES
from seq2set.config.run_folder import RunFolder
from seq2set.core.names import load_named
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.splits import SplitPlan
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.predictor import Predictor
from seq2set.labels.rules import make_global_rule, make_top_rule
from seq2set.models.predictions import Inference, Request
from seq2set.models.tagger import Tagger
from seq2set.workflows.evaluate import evaluate
from seq2set.workflows.train import train
from tiny_networks import tiny_config

DOCUMENTS = [
    ("wheat harvest was good", ("grain",)),
    ("crude barrels and a tariff", ("oil", "trade")),
    ("the bank and its rates", ("money",)),
    ("nothing of note happened", ()),
    ("wheat exports and a tariff", ("grain", "trade")),
    ("crude from the bank", ("money", "oil")),
    ("exports again", ("trade",)),
    ("harvest barrels rates tariff", ("grain", "money", "oil", "trade")),
]
TEXTS = [text for text, _ in DOCUMENTS]
LABELS = {"grain", "oil", "trade", "money"}
UNSEEN = ["", "zebra quagga okapi", "...", "wheat", "ÅÄÖ ﬁ \ud800", "tariff " * 700]

LEARN_BY_HEART = (
    "warm_start.epochs=60",
    "self_critical.epochs=2",
    "likelihood.epochs=60",
    "likelihood.decay=1.0",
    "training.decay=1.0",
    "encoder.hidden=16",
    "decoder.hidden=24",
    "linear.c=[1.0, 100.0]",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight documents, and the same ones to tune and to measure on."""
    documents = [
        Document(f"{split}{number}", text, labels, split)
        for split in ("train", "valid", "test")
        for number, (text, labels) in enumerate(DOCUMENTS)
    ]
    folder = tmp_path_factory.mktemp("eight") / "corpus"
    plan = SplitPlan("given", 0, 0, 1)
    return prepare(documents, folder, name="eight", source="made for tests", licence="none", plan=plan).folder


def config_of(model: str, corpus: Path, *settings: str) -> Config:
    return tiny_config(*LEARN_BY_HEART, f'data.corpus="{corpus}"', *settings, model=model)


@pytest.fixture(scope="module", params=MODELS)
def run(request: pytest.FixtureRequest, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return train(config_of(request.param, corpus), tmp_path_factory.mktemp("runs") / request.param)


@pytest.fixture(scope="module")
def predictor(run: RunFolder) -> Predictor:
    return Predictor.open(run.path)


def infer(predictor: Predictor, texts: list[str], **options: int) -> Inference:
    return predictor.tagger.infer(texts, Request(**options))  # type: ignore[arg-type]


def test_the_registry_is_the_list_of_models() -> None:
    assert all(load_named(row.fit) and load_named(row.tagger) for row in MODELS.values())


def test_it_learns_eight_documents_by_heart(predictor: Predictor) -> None:
    given = [{one.label for one in answer} for answer in predictor.predict(TEXTS)]
    assert given == [set(labels) for _, labels in DOCUMENTS]


def test_a_run_leaves_settings_history_and_model(run: RunFolder) -> None:
    assert run.config.is_file()
    assert run.records()
    files = {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "labels.json",
        "README.md",
        "manifest.json",
        "seen.safetensors",
    }
    assert {path.name for path in run.model.iterdir()} == files


def test_a_seed_gives_the_same_model_twice(run: RunFolder, corpus: Path, tmp_path: Path) -> None:
    config = config_of(Predictor.open(run.path).tagger.config.model, corpus)
    again = train(config, tmp_path / "again")
    for name in ("model.safetensors", "labels.json", "tokenizer.json"):
        assert (again.model / name).read_bytes() == (run.model / name).read_bytes()


def test_copied_and_opened_it_says_the_same(run: RunFolder, predictor: Predictor, tmp_path: Path) -> None:
    copy = run.model.rename(tmp_path / "elsewhere")
    try:
        moved = Predictor.open(copy)
        assert moved.predict([*TEXTS, *UNSEEN]) == predictor.predict([*TEXTS, *UNSEEN])
    finally:
        copy.rename(run.model)


def test_any_text_is_answered(predictor: Predictor) -> None:
    found = infer(predictor, UNSEEN)
    assert found.scores.shape == (len(UNSEEN), 4)
    assert np.isfinite(found.scores).all()
    assert {one.label for answer in predictor.predict(UNSEEN) for one in answer} <= LABELS
    assert predictor.predict([]) == []


@pytest.fixture(scope="module")
def eager(predictor: Predictor) -> Tagger:
    """The same model with a rule that every label passes, as a bias alone can."""
    return replace(predictor.tagger, rule=make_global_rule(0.0))  # type: ignore[type-var]


SEARCHED = (None, *SEARCHES)


@pytest.mark.parametrize("search", SEARCHED)
def test_a_text_without_a_known_word_gets_no_label(eager: Tagger, search: str | None) -> None:
    strange = ["", "zebra quagga okapi", "...", "42, 17", "Ünïcödé", "斑马", "tariffs exported"]
    found = eager.infer([*strange, "wheat"], Request(search=search, explain=True))
    assert found.known.tolist() == [False] * 7 + [True]
    assert [len(row) for row in found.chosen[:7]] == [0] * 7
    assert found.evidence is not None
    assert found.evidence[:7] == [[]] * 7
    assert found.notes() == ["no known words"] * 7 + [None]
    if search == "marginal":
        assert len(found.chosen[7]) == 4
        # Decisions are withheld, scores are not.
        assert (
            found.scores == eager.infer([*strange, "wheat"], Request(search=search, top_k=4)).scores
        ).all()


def test_labels_that_are_asked_for_are_given_with_the_note(eager: Tagger) -> None:
    for request in (
        Request(search="marginal", top_k=2),
        Request(min_labels=2),
        Request(search="greedy", min_labels=2),
    ):
        found = eager.infer(["zebra", "wheat"], request)
        assert len(found.chosen[0]) == 2
        assert found.notes() == ["no known words", None]
    # A threshold asks for labels of a score, not for labels at any price.
    assert [len(row) for row in eager.infer(["zebra", "wheat"], Request(0.0, search="marginal")).chosen] == [
        0,
        4,
    ]


def test_scores_are_probabilities_that_agree_with_the_sets(predictor: Predictor) -> None:
    found = infer(predictor, [*TEXTS, *UNSEEN])
    assert found.scores.dtype == np.float32
    assert ((found.scores >= 0) & (found.scores <= 1)).all()
    for scores, row in zip(found.scores, found.chosen, strict=True):
        others = np.setdiff1d(np.arange(4), row)
        assert len(set(row)) == len(row)
        if len(row) and len(others):
            assert scores[row].min() >= scores[others].max()


def test_a_text_alone_is_as_in_any_batch(predictor: Predictor) -> None:
    texts = [*TEXTS, *UNSEEN]
    together = infer(predictor, texts)
    for number, text in enumerate(texts):
        alone = infer(predictor, [text])
        assert np.allclose(alone.scores[0], together.scores[number], atol=1e-5, rtol=0)
        assert alone.chosen[0].tolist() == together.chosen[number].tolist()


def test_at_least_and_at_most(predictor: Predictor) -> None:
    for least, most in ((1, 1), (2, 3), (4, 4)):
        found = infer(predictor, [*TEXTS, *UNSEEN], min_labels=least, max_labels=most)
        assert all(least <= len(set(row)) == len(row) <= most for row in found.chosen)


def test_a_rule_decides_where_no_search_does(predictor: Predictor) -> None:
    texts, own = [*TEXTS, *UNSEEN], predictor.tagger.rule
    found = predictor.tagger.infer(texts, Request(search="marginal"))
    assert found.rule == own
    given = own.decide(found.scores) & found.known[:, None]
    assert [set(row) for row in found.chosen] == [set(np.flatnonzero(row)) for row in given]
    few = predictor.tagger.infer(texts, Request(search="marginal", top_k=2))
    assert few.rule == make_top_rule(2)
    assert [len(set(row)) for row in few.chosen] == [2] * len(texts)
    every = predictor.tagger.infer(texts, Request(search="marginal", top_k=5))
    assert [len(row) for row in every.chosen] == [4] * len(texts)


def test_evidence_stands_in_the_text(predictor: Predictor) -> None:
    answers = predictor.predict(TEXTS, Request(explain=True, words_per_label=2))
    for text, answer in zip(TEXTS, answers, strict=True):
        for one in answer:
            assert len(one.evidence) <= 2
            assert all(text[word.start : word.end] == word.word for word in one.evidence)
    assert any(one.evidence for answer in answers for one in answer)


def test_evaluation_is_what_follows_from_the_predictions(run: RunFolder, predictor: Predictor) -> None:
    # The test split is what was learnt by heart, which has to be said.
    report = evaluate(run.path, request=Request(max_labels=1), include_seen=True).summary()
    given = [{one.label for one in answer} for answer in predictor.predict(TEXTS, Request(max_labels=1))]
    actual = [set(labels) for _, labels in DOCUMENTS]
    right = sum(len(one & true) for one, true in zip(given, actual, strict=True))
    said, true = sum(map(len, given)), sum(map(len, actual))
    assert report["documents"] == 8
    assert report["micro_precision"] == pytest.approx(right / said)
    assert report["micro_recall"] == pytest.approx(right / true)
    assert report["micro_f1"] == pytest.approx(2 * right / (said + true))
    assert report["hamming_loss"] == pytest.approx((said + true - 2 * right) / (8 * 4))
    equal = sum(one == true for one, true in zip(given, actual, strict=True))
    assert report["subset_accuracy"] == pytest.approx(equal / 8)
    # Seven documents have a label and one of theirs is given: 7 right of 7 said, of 13 true.
    assert (right, said, true) == (7, 7, 13)


def test_labels_that_training_never_saw_are_misses(predictor: Predictor) -> None:
    measured = [Document("a", TEXTS[0], ("grain", "new")), Document("b", TEXTS[3], ("newer",))]

    class Two:
        def __len__(self) -> int:
            return 2

        def iter_labels(self) -> Iterator[tuple[str, ...]]:
            return (document.labels for document in measured)

        def iter_batches(self, size: int) -> list[list[Document]]:
            return [measured]

    result = evaluate_tagger(predictor.tagger, Two())  # type: ignore[arg-type]
    assert result.unseen_labels == 2
    assert result.metrics["micro_recall"] == pytest.approx(1 / 3)


def test_a_finished_run_is_left_alone(run: RunFolder) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.is_file()}
    train(Predictor.open(run.path).tagger.config, run.path, resume=True)
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.is_file()} == before
