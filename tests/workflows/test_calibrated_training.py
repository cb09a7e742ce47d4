"""Training ends with calibration: every model's scores are probabilities, and its decisions are no worse."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seq2set import Seq2SetClassifier
from seq2set.config import Config
from seq2set.config.catalog import MODELS, SEARCHES
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.inference.model_folder import load_model, read_metadata
from seq2set.labels.confidence.acceptance import UNCALIBRATED
from seq2set.models.predictions import Request
from seq2set.nn.decoding.searches import SearchResult, find_marginals
from seq2set.server.answers import Answerer, LabelRequest
from seq2set.tuning.calibrated_scores import accept_labels, calibrate_model
from seq2set.tuning.decision_rules import tune_rule
from seq2set.tuning.tunable_model import undo_rule
from seq2set.workflows.evaluate import evaluate
from seq2set.workflows.train import train
from tiny_networks import FILLER, SIGNS, tiny_config


def make_documents(count: int) -> list[Document]:
    """Make texts that name their labels, most of the time."""
    draw, documents = random.Random(5), []
    for number in range(count):
        labels = draw.sample([*SIGNS], k=draw.randint(1, 2))
        words = [draw.choice(SIGNS[one]) for one in labels if draw.random() < 0.85]
        words += draw.choices([*FILLER, "wheat", "bank"], k=4)
        documents.append(Document(str(number), " ".join(words), tuple(labels)))
    return documents


def make_corpus(folder: Path, count: int, valid: float) -> PreparedCorpus:
    plan = SplitPlan("random", valid, 0.2, 1)
    documents = make_documents(count)
    return prepare(documents, folder, name="noisy", source="made", licence="none", plan=plan)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return make_corpus(tmp_path_factory.mktemp("corpora") / "noisy", 300, 0.4)


def config_of(corpus: PreparedCorpus, *settings: str, model: str = "br") -> Config:
    return tiny_config(f'data.corpus="{corpus.folder}"', "linear.c=[1.0]", *settings, model=model)


def read_card(run: RunFolder) -> str:
    return (run.model / "README.md").read_text("utf-8")


def find_tenths(*arguments: Any) -> SearchResult:
    """Score labels by a tenth of their marginals, for a rule to decide."""
    return find_marginals(*arguments)._replace(scores=find_marginals(*arguments).scores / np.float32(10))


def test_a_rule_is_found_for_the_models_own_search_where_that_gives_no_set(
    corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SEARCHES, "tenths", SEARCHES["marginal"]._replace(find=f"{__name__}:find_tenths"))
    settings = ("search.name=tenths", "decision.calibrate=false")
    run = train(config_of(corpus, *settings, model="seq2set-simp"), tmp_path / "run")
    # A threshold for marginals would let hardly any tenth of one pass.
    assert load_model(run.path).rule.thresholds[0] <= 0.1
    assert evaluate(run.path, split="valid").summary()["micro_f1"] > 0.3
    tuned = tune_rule(run.path, kind="global", dry_run=True)
    assert (tuned.kept, tuned.rule) == (True, load_model(run.path).rule)
    calibrate_model(run.path)
    found = load_model(run.path)
    assert found.confidence.calibrators.keys() == {"tenths"}
    texts = corpus.split("test").texts()[:5]
    answers = Answerer(found)(texts, LabelRequest(candidates=4))
    best = found.infer(texts, Request(top_k=4)).suggestions(found.labels.names)
    assert [one.candidates for one in answers] == best


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_calibrated_at_the_end_and_decides_the_same(
    model: str, corpus: PreparedCorpus, tmp_path: Path
) -> None:
    runs = [
        train(config_of(corpus, f"decision.calibrate={switch}", model=model), tmp_path / switch)
        for switch in ("true", "false")
    ]
    found, plain = (load_model(run.path) for run in runs)
    assert found.confidence.calibrators.keys() == {"marginal", found.find_search(Request())}
    assert plain.confidence.calibrators == {}
    texts = corpus.split("test").texts()
    raw = found.with_confidence(UNCALIBRATED, plain.rule).infer(texts, Request())
    before, after = plain.infer(texts, Request()), found.infer(texts, Request())
    assert np.array_equal(raw.scores, before.scores), "training itself is the same"
    assert after.calibrated
    assert not before.calibrated
    assert [set(one) for one in after.chosen] == [set(one) for one in before.chosen]
    reached, then = (read_metadata(run.path)["validation"] for run in runs)
    assert reached == then
    assert "calibrated on 120 documents as a whole" in read_card(runs[0])
    assert "not calibrated (decision.calibrate is false)" in read_card(runs[1])


def test_what_training_recorded_serves_to_accept_labels(corpus: PreparedCorpus, tmp_path: Path) -> None:
    run = train(config_of(corpus), tmp_path / "run")
    recorded = read_metadata(run.path)["calibrated"]
    assert (recorded["data"], recorded["split"], recorded["documents"]) == ("noisy", "valid", 120)
    assert accept_labels(run.path, 0.6, 0.5).accepted > 0
    assert evaluate(run.path).summary()["calibrated"] is True


def test_a_validation_split_with_few_labels_leaves_scores_as_they_are(tmp_path: Path) -> None:
    run = train(config_of(make_corpus(tmp_path / "few", 80, 0.2)), tmp_path / "run")
    assert load_model(run.path).confidence.calibrators == {}
    why = read_metadata(run.path)["calibrated"]["why"]
    assert why.startswith("the documents to calibrate on have 2")
    assert f"- Its scores are not calibrated ({why})" in read_card(run)
    assert evaluate(run.path).summary()["calibrated"] is False


def test_documents_that_cannot_be_held_out_leave_scores_as_they_are(tmp_path: Path) -> None:
    documents = [
        Document(f"{split}{number}", f"wheat tariff {split} {number % 7}", ("grain", "trade"), split)
        for split in ("train", "valid")
        for number in range(60)
    ]
    plan = SplitPlan("given", 0, 0, 1)
    corpus = prepare(documents, tmp_path / "all", name="all", source="made", licence="none", plan=plan)
    run = train(config_of(corpus), tmp_path / "run")
    why = read_metadata(run.path)["calibrated"]["why"]
    assert (
        why == "without some of the documents to calibrate on, all labels of the others are right, or none is"
    )


def test_nothing_is_calibrated_on_what_was_learnt() -> None:
    with pytest.warns(UserWarning, match="none of the 60 texts could be set aside"):
        tagger = Seq2SetClassifier("br").fit([f"text {n}" for n in range(60)], [[f"L{n}"] for n in range(60)])
    why = "no documents could be set aside from those that it learnt from"
    assert tagger.metadata_["calibrated"] == {"searches": {}, "why": why}


def test_an_estimator_is_calibrated_on_what_it_sets_aside() -> None:
    documents = make_documents(300)
    texts, sets = [one.text for one in documents], [list(one.labels) for one in documents]
    fitted = [
        Seq2SetClassifier("br", settings={"decision.calibrate": switch}, validation_fraction=0.3).fit(
            texts, sets
        )
        for switch in (True, False)
    ]
    calibrated, plain = (one.tagger_.confidence.calibrators.keys() for one in fitted)
    assert (calibrated, plain) == ({"marginal"}, set())


def test_each_fold_of_a_cross_validation_is_calibrated(
    corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    from seq2set.workflows import cross_validation

    whole = cross_validation.evaluate_tagger
    monkeypatch.setattr(
        cross_validation,
        "evaluate_tagger",
        lambda tagger, *rest, **named: seen.append(tagger.confidence) or whole(tagger, *rest, **named),
    )
    monkeypatch.setattr("seq2set.workflows.calibration.LEAST_RIGHT", 20)
    train(config_of(corpus), tmp_path / "run", folds=2)
    assert [one.calibrators.keys() for one in seen] == [{"marginal"}] * 2


@pytest.mark.parametrize("threshold", ["tuned", "0.4"])
def test_a_calibrated_model_is_calibrated_anew_and_back(
    threshold: str, corpus: PreparedCorpus, tmp_path: Path
) -> None:
    run = train(config_of(corpus, f'decision.threshold="{threshold}"'), tmp_path / "run")
    texts, trained = corpus.split("test").texts(), load_model(run.path)
    other = make_corpus(tmp_path / "other", 500, 0.4)
    found = calibrate_model(run.path, data=str(other.folder))
    assert 100 < found.documents < 200, "what it learnt from is left out"
    assert found.micro_f1[1] == found.micro_f1[0]
    assert load_model(run.path).confidence != trained.confidence
    chosen = [one.infer(texts, Request()).chosen for one in (load_model(run.path), trained)]
    assert [set(one) for one in chosen[0]] == [set(one) for one in chosen[1]]
    undo_rule(run.path)
    again = load_model(run.path)
    assert (again.rule, again.confidence) == (trained.rule, trained.confidence)
    assert np.array_equal(again.infer(texts, Request()).scores, trained.infer(texts, Request()).scores)
