"""Texts that count for more than others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from seq2set import Seq2SetClassifier
from seq2set.core.errors import InputError
from seq2set.corpora.seen_texts import hash_texts
from seq2set.labels.metrics import Counts


@pytest.mark.parametrize("model", ["br", "cc", "lp"])
def test_texts_without_weight_are_not_learnt(data, make_quick, model: str) -> None:
    """Texts that contradict the others, with a weight of 0, teach nothing."""
    wrong = [("oil",) if "grain" in labels else ("grain",) for labels in data.label_sets]
    texts = data.texts * 2
    weights = [1.0] * len(data.texts) + [0.0] * len(data.texts)
    tagger = make_quick(model=model).fit(texts, [*data.label_sets, *wrong], sample_weight=weights)
    scores = tagger.predict_proba(["wheat harvest", "crude barrels"])
    grain, oil = tagger.classes_.tolist().index("grain"), tagger.classes_.tolist().index("oil")
    assert scores[0, grain] > scores[0, oil]
    assert scores[1, oil] > scores[1, grain]


def test_a_weight_multiplies_c(data, make_quick) -> None:
    draw = np.random.default_rng(3)
    weights = draw.choice([0.5, 1.0, 4.0], len(data.texts))
    tagger = make_quick().fit(data.texts, data.label_sets, sample_weight=weights)
    plain = make_quick().fit(data.texts, data.label_sets)
    assert np.array_equal(plain.tagger_.features.idf, tagger.tagger_.features.idf)  # each text counts once
    # Which texts are learnt from does not depend on weights; what they are, the fingerprint says.
    assert tagger.metadata_["corpus"]["fingerprint"] != plain.metadata_["corpus"]["fingerprint"]
    learnt = tagger._seen.trained
    rows = np.isin(hash_texts(data.texts), learnt)
    features = tagger.tagger_.features.transform(
        [t for t, kept in zip(data.texts, rows, strict=True) if kept]
    )
    target = ["oil" in labels for labels, kept in zip(data.label_sets, rows, strict=True) if kept]
    own = weights[rows] / weights[rows].mean()
    machine = LinearSVC(C=10.0, tol=0.01, random_state=1, dual=True)
    machine.fit(features.to_scipy().astype(np.float64), target, sample_weight=own)
    oil = tagger.tagger_.labels.index("oil")
    assert np.allclose(tagger.tagger_.scorer.weights[:, oil], machine.coef_[0], atol=1e-5)


def test_equal_weights_change_nothing(data, make_quick) -> None:
    plain = make_quick().fit(data.texts, data.label_sets).predict_proba(data.texts)
    sevens = make_quick().fit(data.texts, data.label_sets, sample_weight=[7] * len(data.texts))
    assert np.allclose(sevens.predict_proba(data.texts), plain, atol=1e-6)


def test_the_score_by_hand(fitted) -> None:
    texts = ["wheat harvest wheat harvest", "crude barrels crude barrels"]
    assert fitted.predict(texts) == [("grain",), ("oil",)]
    true = [("grain",), ("oil", "trade")]
    # right: 1 and 1; given and true together: 2 and 3
    assert fitted.score(texts, true) == pytest.approx(2 * 2 / 5)
    assert fitted.score(texts, true, sample_weight=[3, 1]) == pytest.approx(2 * 4 / 9)
    assert fitted.score(texts, true, sample_weight=[0, 1]) == pytest.approx(2 / 3)


def test_the_score_of_nothing_given_and_nothing_true_is_that_of_the_metric(fitted) -> None:
    """Weights make no difference to the convention of micro-F1: 0 where there is nothing to divide by."""
    nothing = np.zeros((2, 3))
    expected = Counts.of(nothing, nothing).metrics()["micro_f1"]
    assert expected == 0
    for weights in (None, [1, 1], [1, 2]):
        assert fitted.score(["", ""], [(), ()], sample_weight=weights) == expected
    assert fitted.score(["wheat harvest", ""], [("grain",), ()], sample_weight=[0, 1]) == expected


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0], r"sample_weight has the shape \(1,\); it must have a number per text, \(90,\)"),
        ([-1.0] * 90, "sample_weight holds -1; weights must be finite and >= 0"),
        ([float("nan")] * 90, "sample_weight holds nan"),
        (["much"] * 90, "it must hold numbers"),
        ([0.0] * 90, "sample_weight is 0 for all texts to learn from"),
    ],
)
def test_what_is_no_weight(data, make_quick, weights: list[float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make_quick().fit(data.texts, data.label_sets, sample_weight=weights)


def test_networks_refuse_weights(data) -> None:
    with pytest.raises(InputError, match="the model is 'cnn'; only br, cc and lp weigh texts"):
        Seq2SetClassifier("cnn").fit(data.texts, data.label_sets, sample_weight=[1] * 90)
