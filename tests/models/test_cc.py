from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from seq2set.config import Config, build_config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError
from seq2set.core.progress import Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.model_folder import load_model
from seq2set.inference.predictor import Predictor
from seq2set.labels.calibration import Sigmoid, fit_sigmoid
from seq2set.labels.thresholds import find_threshold
from seq2set.models.cc import Chain, ClassifierChains, average_chains, order_chains, run_chains, train_cc
from seq2set.models.linear.classifiers import fit_linear
from seq2set.models.linear.scorer import LinearScorer
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples
from seq2set.workflows.train import train
from seq2set.workflows.training_data import load_examples


def settings(*assignments: str) -> Config:
    common = ["threads=1", "features.min_documents=1", "text.min_frequency=1", *assignments]
    return build_config(model="cc", assignments=common)


def trained(folder: Path, config: Config, learn: Examples, tune: Examples | None = None) -> ClassifierChains:
    return train_cc(config, learn, tune or learn, RunFolder.start(folder, config), Silent())


def test_decisions_go_along_the_chain() -> None:
    # Two terms, three labels; the chain is label 2, label 0, label 1.
    weights = np.array(
        [
            [1, 0, 0],  # the first term speaks for label 2
            [0, 1, 0],  # the second term speaks for label 0
            [0, 2, -3],  # label 2 given: label 0 gains 2, label 1 loses 3
            [0, 0, 5],  # label 0 given: label 1 gains 5
            [0, 0, 0],
        ],
        np.float32,
    )
    chain = Chain(np.array([2, 0, 1]), LinearScorer(weights, np.array([-0.5, -1, -1], np.float32)))
    margins = chain.margins(csr_matrix(np.array([[1, 0], [0, 3], [0, 0], [0.5, 1]], np.float32)))
    # Labels 0, 1, 2 of each document:
    # (1, 0): label 2 has 1 - 0.5 = 0.5, yes; label 0 0 - 1 + 2 = 1, yes; label 1 -1 - 3 + 5 = 1.
    # (0, 3): label 2 -0.5, no; label 0 3 - 1 = 2, yes; label 1 -1 + 5 = 4.
    # (0, 0): label 2 -0.5, no; label 0 -1, no; label 1 -1.
    # (0.5, 1): label 2 exactly 0, no; label 0 1 - 1 = 0, no; label 1 -1.
    assert margins.tolist() == [[1, 1, 0.5], [2, 4, -0.5], [-1, -1, -0.5], [0, -1, 0]]


def test_chains_average_their_probabilities() -> None:
    def constant(bias: float) -> Chain:
        return Chain(np.array([0]), LinearScorer(np.zeros((2, 1), np.float32), np.array([bias], np.float32)))

    margins = run_chains((constant(0.0), constant(np.log(3))), csr_matrix((1, 1), dtype=np.float32))
    # sigmoid(0) = 1/2 and sigmoid(log 3) = 3/4.
    assert average_chains(Sigmoid(1.0, 0.0), margins) == pytest.approx(np.array([[0.625]]), abs=1e-7)


def test_a_link_sees_the_labels_before_it_and_no_others() -> None:
    # Four documents without terms: label 1 stands where label 0 does, label 2 where label 0 does not.
    targets = csr_matrix(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]], bool))
    blind = csr_matrix(np.concatenate([np.zeros((4, 1)), targets.toarray()], axis=1))
    config = settings("linear.tolerance=0.01")
    scorer = fit_linear(config, blind, targets, 10, lambda *_: None, seen=range(1, 4))
    assert scorer.weights.shape == (4, 3)
    assert (scorer.weights[1:][np.tril_indices(3)] == 0).all()
    assert scorer.weights[1, 1] > 0.5
    assert scorer.weights[1, 2] < -0.5


def test_a_chain_learns_what_the_words_do_not_show(tmp_path: Path) -> None:
    # "late" stands beside "train" whenever no "wheat" does; the words of "late" itself say nothing.
    texts = ["train wheat", "train corn", "ship", "train wheat", "train corn", "ship corn", "ship wheat"] * 6
    sets = [("go",), ("go", "late"), (), ("go",), ("go", "late"), (), ()] * 6
    model = trained(tmp_path / "run", settings("linear.c=[10]", "features.ngrams=1"), Examples(texts, sets))
    assert model.labels.names == ("go", "late")
    (chain,) = model.chains
    # What the decision on "go" is worth to "late".
    assert chain.scorer.weights[-2, 1] > 0.5
    given = [row.tolist() for row in model.infer(["train corn", "ship corn"], Request()).chosen]
    assert [set(row) for row in given] == [{0, 1}, set()]


def test_orders() -> None:
    assert [order.tolist() for order in order_chains(settings(), 4)] == [[0, 1, 2, 3]]
    (drawn,) = order_chains(settings('chain.order="random"'), 50)
    assert sorted(drawn) == list(range(50)) != drawn.tolist()
    many = order_chains(settings('chain.order="ensemble"', "chain.chains=3"), 50)
    assert len({tuple(order) for order in many}) == 3
    assert many[0].tolist() == drawn.tolist()
    other = order_chains(settings('chain.order="random"', "seed=2"), 50)
    assert other[0].tolist() != drawn.tolist()


def test_settings_that_are_no_chain() -> None:
    with pytest.raises(ConfigError, match=r"chain\.order is 'size'; it must be"):
        settings("chain.order=size")
    with pytest.raises(ConfigError, match=r"chain\.chains is 0; it must be >= 1"):
        settings("chain.chains=0")


def test_an_ensemble_learns_is_saved_and_explains(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    config = settings(
        f'data.corpus="{small_corpus.folder}"', 'chain.order="ensemble"', "chain.chains=3", "linear.c=[1]"
    )
    run = train(config, tmp_path / "run")
    model = load_model(run.path)
    assert isinstance(model, ClassifierChains)
    assert len(model.chains) == 3
    assert evaluate_tagger(model, small_corpus.split("test")).metrics["micro_f1"] > 0.95
    text = "The report said: Wheat and bushels of wheat, in a year of harvest."
    ((suggestion,),) = Predictor.open(run.path).predict([text], Request(explain=True, words_per_label=3))
    assert suggestion.label == "grain"
    assert {word.word.lower() for word in suggestion.evidence} == {"wheat", "bushels", "harvest"}


def test_reasons_are_the_mean_of_the_chains(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    learn = load_examples(small_corpus.split("train"))
    config = settings('chain.order="ensemble"', "chain.chains=2", "linear.c=[1]")
    model = trained(tmp_path / "run", config, learn)
    vector = model.features.transform(["wheat"])
    each = [
        chain.scorer.weights[: len(model.features), chain.order.tolist().index(3)] for chain in model.chains
    ]
    assert model.label_weights(vector, 3) == pytest.approx((each[0] + each[1]) / 2, abs=1e-7)


def test_a_stopped_ensemble_goes_on_to_the_same_result(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    learn, tune = load_examples(small_corpus.split("train")), load_examples(small_corpus.split("valid"))
    config = settings('chain.order="ensemble"', "chain.chains=2", "linear.c=[0.01, 1]")
    whole = trained(tmp_path / "whole", config, learn, tune)

    class Stopper(Silent):
        titles: list[str] = []  # noqa: RUF012

        def stage(self, title, total=None):  # type: ignore[no-untyped-def]
            self.titles.append(title)
            if len(self.titles) == 5:
                raise KeyboardInterrupt
            return super().stage(title, total)

    run = RunFolder.start(tmp_path / "stopped", config)
    with pytest.raises(KeyboardInterrupt):
        train_cc(config, learn, tune, run, Stopper())
    assert Stopper.titles[1:] == [f"chain {n} of 2, C = {c}" for c in ("0.01", "1") for n in (1, 2)]
    left = {path.name: path.stat().st_mtime_ns for path in run.checkpoints.iterdir()}
    assert set(left) == {f"chain-{one}.safetensors" for one in ("1-c-0.01", "2-c-0.01", "1-c-1")}
    resumed = train_cc(config, learn, tune, RunFolder.start(run.path, config, resume=True), Silent())
    assert all((run.checkpoints / name).stat().st_mtime_ns == stamp for name, stamp in left.items())
    assert (resumed.rule, resumed.c, resumed.sigmoid) == (whole.rule, whole.c, whole.sigmoid)
    for one, two in zip(resumed.chains, whole.chains, strict=True):
        assert np.array_equal(one.scorer.weights, two.scorer.weights)


@pytest.mark.parametrize("order", ["frequency", "random", "ensemble"])
def test_a_chain_of_one_label(tmp_path: Path, order: str) -> None:
    learn = Examples(["wheat rose", "oil fell", "wheat fell", "oil rose"], [("grain",), (), ("grain",), ()])
    model = trained(tmp_path / "run", settings(f'chain.order="{order}"'), learn)
    assert [row.tolist() for row in model.infer(["wheat", "oil"], Request()).chosen] == [[0], []]


def test_the_boundary_is_a_margin_of_zero(tmp_path: Path, small_corpus: PreparedCorpus) -> None:
    config = settings('decision.threshold="boundary"', "linear.c=[1]")
    model = trained(tmp_path / "run", config, load_examples(small_corpus.split("train")))
    assert model.rule.thresholds == pytest.approx((1 / (1 + np.exp(-model.sigmoid.offset)),), abs=1e-6)


def test_sigmoid_and_threshold_are_those_of_the_validation_documents(tmp_path: Path) -> None:
    learn = Examples(
        ["wheat harvest", "crude barrels", "wheat crude", "bank"] * 5, [("a",), ("b",), ("a", "b"), ()] * 5
    )
    tune = Examples(
        ["wheat", "wheat bank", "crude", "harvest crude", "bank"], [("a",), (), ("b",), ("a",), ("b",)]
    )
    model = trained(tmp_path, settings("linear.c=[1.0]"), learn, tune)

    def fitted_on(part: Examples) -> tuple[Sigmoid, float]:
        margins = run_chains(model.chains, model.features.transform(part.texts))
        right = model.labels.indicator(part.label_sets)
        sigmoid = fit_sigmoid(margins, np.broadcast_to(right.toarray(), margins.shape))
        return sigmoid, find_threshold(average_chains(sigmoid, margins), right, "micro_f1").value

    (sigmoid, threshold), (by_heart, other) = fitted_on(tune), fitted_on(learn)
    assert sigmoid != by_heart
    assert threshold != pytest.approx(other)
    assert model.sigmoid == sigmoid
    assert model.rule.thresholds == pytest.approx((threshold,))
