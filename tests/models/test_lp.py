from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seq2set.config import Config, build_config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError
from seq2set.core.progress import Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.model_folder import load_model, read_metadata
from seq2set.inference.predictor import Predictor
from seq2set.labels.thresholds import find_threshold
from seq2set.models.lp import LabelPowerset, fit_posterior, train_lp
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples
from seq2set.workflows.train import train
from seq2set.workflows.training_data import load_examples


class Listener(Silent):
    """Remembers what training tells."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


def settings(*assignments: str) -> Config:
    common = ["threads=1", "features.min_documents=1", "text.min_frequency=1", *assignments]
    return build_config(model="lp", assignments=common)


def trained(
    folder: Path,
    config: Config,
    learn: Examples,
    tune: Examples | None = None,
    listener: Silent | None = None,
) -> LabelPowerset:
    return train_lp(config, learn, tune or learn, RunFolder.start(folder, config), listener or Silent())


def test_it_learns_is_saved_and_says_what_it_pruned(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    listener = Listener()
    config = settings(f'data.corpus="{small_corpus.folder}"', "linear.c=[1]", "powerset.max_combinations=9")
    run = train(config, tmp_path / "run", progress=listener)
    model = load_model(run.path)
    assert isinstance(model, LabelPowerset)
    counts = model.state().fitted["combinations"]
    # No label, 4 labels alone and 6 pairs: 11 combinations.
    assert (counts["kept"], counts["pruned"]) == (9, 2)
    assert counts["documents_cut"] > 0 == counts["documents_left_out"]
    (note,) = listener.notes
    assert note == (
        f"9 label combinations are kept and 2 pruned; of their documents {counts['documents_cut']} count for "
        "a part of their labels, 0 are left out"
    )
    assert (
        f"kept 9, pruned 2, documents_cut {counts['documents_cut']}" in (run.model / "README.md").read_text()
    )
    assert read_metadata(run.path)["validation"]["micro_f1"] > 0.9
    assert evaluate_tagger(model, small_corpus.split("test")).metrics["micro_f1"] > 0.9


def test_nothing_is_said_where_nothing_is_pruned(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    listener = Listener()
    learn = load_examples(small_corpus.split("train"))
    model = trained(tmp_path / "run", settings("linear.c=[1]"), learn, listener=listener)
    assert listener.notes == []
    assert model.combinations == {"kept": 11, "pruned": 0, "documents_cut": 0, "documents_left_out": 0}


def test_evidence_is_that_of_the_likely_combinations(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    learn = load_examples(small_corpus.split("train"))
    model = trained(tmp_path / "run", settings("linear.c=[1]"), learn)
    text = "The report said: Wheat and bushels of wheat, in a year of harvest."
    ((suggestion,),) = Predictor(model, {}).predict([text], Request(explain=True, words_per_label=3))
    assert suggestion.label == "grain"
    assert {word.word.lower() for word in suggestion.evidence} == {"wheat", "bushels", "harvest"}
    # Term by term: the sum over combinations of probability x holds the label x weight.
    vector, label = model.features.transform([text]), model.labels.index("grain")
    likely = model.posterior.combinations(model.scorer.margins(vector))[0]
    held = model.posterior.holds.toarray()[:, label] > 0
    wanted = sum(p * model.scorer.weights[:, k] for k, p in enumerate(likely) if held[k])
    found = model.label_weights(vector, label)
    assert found[vector.indices] == pytest.approx(wanted[vector.indices], abs=1e-6)
    assert np.count_nonzero(found) <= vector.nnz


def test_every_document_its_own_combination(tmp_path: Path) -> None:
    names = [f"l{number}" for number in range(40)]
    learn = Examples(
        [f"word{n} and word{n}" for n in range(39)], [(names[n], names[n + 1]) for n in range(39)]
    )
    model = trained(tmp_path / "all", settings("linear.c=[10]"), learn)
    assert model.combinations["kept"] == 39
    given = [row.tolist() for row in model.infer(learn.texts, Request()).chosen]
    assert [set(model.labels.decode(row)) for row in given] == [set(one) for one in learn.label_sets]
    listener = Listener()
    fewer = trained(
        tmp_path / "few", settings("linear.c=[10]", "powerset.max_combinations=5"), learn, None, listener
    )
    # No combination is a part of another, so the documents of the pruned ones are left out.
    assert fewer.combinations == {"kept": 5, "pruned": 34, "documents_cut": 0, "documents_left_out": 34}
    assert listener.notes == [
        "5 label combinations are kept and 34 pruned; of their documents 0 count for a part of their labels, "
        "34 are left out"
    ]
    assert fewer.infer(learn.texts, Request()).scores.shape == (39, 40)


def test_no_combination_is_frequent_enough(tmp_path: Path) -> None:
    learn = Examples(["wheat", "oil"], [("grain",), ("oil",)])
    message = r"powerset\.min_documents is 2; no label combination has that many documents"
    with pytest.raises(ConfigError, match=message):
        trained(tmp_path / "run", settings("powerset.min_documents=2"), learn)


def test_one_combination_only(tmp_path: Path) -> None:
    learn = Examples(["wheat", "corn", "rye"], [("grain", "food")] * 3)
    model = trained(tmp_path / "run", settings("text.min_frequency=1"), learn)
    found = model.infer(["any rye"], Request())
    assert found.scores.tolist() == [[1.0, 1.0]]
    assert found.chosen[0].tolist() == [0, 1]


def test_too_many_terms_are_cut_to_the_most_frequent(tmp_path: Path) -> None:
    texts = ["common often rare", "common often", "common other", "common"]
    listener = Listener()
    config = settings("features.ngrams=1", "powerset.max_features=2", "linear.c=[1]")
    model = trained(tmp_path / "run", config, Examples(texts, [("a",), ("a",), ("b",), ()]), None, listener)
    # Documents a term: common 4, often 2, rare 1, other 1.
    assert listener.notes == ["the 2 most frequent of 4 terms are kept"]
    assert model.scorer.weights.shape == (2, 3)
    assert [model.words.word(int(code) - 1) for code in model.features.terms] == ["common", "often"]


def test_the_boundary_is_one_half(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    config = settings('decision.threshold="boundary"', "linear.c=[1]")
    model = trained(tmp_path / "run", config, load_examples(small_corpus.split("train")))
    assert model.rule.thresholds == (0.5,)


def test_a_stopped_run_goes_on_to_the_same_result(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    learn, tune = load_examples(small_corpus.split("train")), load_examples(small_corpus.split("valid"))
    config = settings("linear.c=[0.01, 1]")
    whole = trained(tmp_path / "whole", config, learn, tune)

    class Stopper(Silent):
        stages = 0

        def stage(self, title, total=None):  # type: ignore[no-untyped-def]
            Stopper.stages += 1
            if Stopper.stages == 3:
                raise KeyboardInterrupt
            return super().stage(title, total)

    run = RunFolder.start(tmp_path / "stopped", config)
    with pytest.raises(KeyboardInterrupt):
        train_lp(config, learn, tune, run, Stopper())
    stamp = (run.checkpoints / "powerset-c-0.01.safetensors").stat().st_mtime_ns
    resumed = train_lp(config, learn, tune, RunFolder.start(run.path, config, resume=True), Silent())
    assert (run.checkpoints / "powerset-c-0.01.safetensors").stat().st_mtime_ns == stamp
    assert np.array_equal(resumed.scorer.weights, whole.scorer.weights)
    assert (resumed.rule, resumed.c, resumed.posterior.scale) == (whole.rule, whole.c, whole.posterior.scale)


def test_sharpness_and_threshold_are_those_of_the_validation_documents(tmp_path: Path) -> None:
    learn = Examples(
        ["wheat harvest", "crude barrels", "wheat crude", "bank"] * 5, [("a",), ("b",), ("a", "b"), ()] * 5
    )
    tune = Examples(
        ["wheat", "wheat bank", "crude", "harvest crude", "bank"], [("a",), (), ("b",), ("a",), ("b",)]
    )
    model = trained(tmp_path, settings("linear.c=[1.0]"), learn, tune)

    def fitted_on(part: Examples) -> tuple[float, float]:
        margins = model.scorer.margins(model.features.transform(part.texts))
        right = model.labels.indicator(part.label_sets)
        posterior = fit_posterior(model.posterior.holds, margins, right.toarray())
        return posterior.scale, find_threshold(posterior.labels(margins), right, "micro_f1").value

    (scale, threshold), (by_heart, other) = fitted_on(tune), fitted_on(learn)
    assert scale != pytest.approx(by_heart, rel=0.1)
    assert threshold != pytest.approx(other)
    assert model.posterior.scale == pytest.approx(scale)
    assert model.rule.thresholds == pytest.approx((threshold,))
