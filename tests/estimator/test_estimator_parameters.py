from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer

from seq2set import Seq2SetClassifier
from seq2set.core.errors import ConfigError, InputError, UnknownNameError
from seq2set.estimator import EstimatorInputError


def test_parameters_of_prediction_can_change_after_fit(fitted, data) -> None:
    tagger = Seq2SetClassifier.__new__(Seq2SetClassifier)
    tagger.__dict__.update(fitted.__dict__)
    tagger.set_params(threshold=0.0)
    assert {len(one) for one in tagger.predict(data.texts)} == {3}
    tagger.set_params(max_labels=1)
    assert {len(one) for one in tagger.predict(data.texts)} == {1}
    tagger.set_params(threshold=1.0, max_labels=None, min_labels=2)
    assert {len(one) for one in tagger.predict(data.texts)} == {2}
    tagger.set_params(threshold=None, top_k=1, min_labels=0)
    assert {len(one) for one in tagger.predict(data.texts)} == {1}


def test_clone_and_parameters(make_quick, fitted) -> None:
    settings = {"linear.c": [1.0]}
    tagger = Seq2SetClassifier("br", settings=settings, random_state=3, threshold=0.2)
    assert tagger.settings is settings
    copy = clone(tagger)
    assert copy.get_params() == tagger.get_params()
    assert copy.set_params(threshold=0.4, model="seq2set-simp").get_params()["threshold"] == 0.4
    with pytest.raises(NotFittedError):
        clone(fitted).predict(["a"])


@pytest.mark.parametrize(
    "call",
    [
        lambda t, _: t.predict(["a"]),
        lambda t, _: t.predict_proba(["a"]),
        lambda t, _: t.score(["a"], [["b"]]),
        lambda t, folder: t.save(folder / "model"),
    ],
)
def test_before_fit(call, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="This Seq2SetClassifier instance is not fitted yet"):
        call(Seq2SetClassifier(), tmp_path)


def test_pipeline(make_quick, data, fitted) -> None:
    shout = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    pipeline = make_pipeline(shout, make_quick()).fit(data.texts, data.label_sets)
    assert pipeline.predict(data.texts) == fitted.predict(data.texts)
    assert pipeline.score(data.texts, data.label_sets) == fitted.score(data.texts, data.label_sets)


def test_cross_validation_with_both_forms(make_quick, data) -> None:
    by_sets = cross_validate(make_quick(), data.texts, data.label_sets, cv=3)["test_score"]
    assert by_sets.min() > 0.9
    matrix = MultiLabelBinarizer().fit_transform(data.label_sets)
    by_matrix = cross_validate(make_quick(), pd.Series(data.texts), matrix, cv=3, scoring=["f1_micro"])
    assert by_matrix["test_f1_micro"] == pytest.approx(by_sets)
    assert not is_classifier(make_quick())  # what label sets in cross-validation rest on


def measure_auc(estimator: Seq2SetClassifier, texts: pd.Series, matrix: np.ndarray) -> float:
    return float(roc_auc_score(matrix, estimator.predict_proba(texts)))


OLDER = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)


@pytest.mark.parametrize(
    "scoring",
    [
        measure_auc,
        pytest.param("roc_auc", marks=pytest.mark.skipif(OLDER, reason="before 1.9 for classifiers only")),
    ],
)
def test_probabilities_are_scored_in_cross_validation(make_quick, data, scoring) -> None:
    matrix = MultiLabelBinarizer().fit_transform(data.label_sets)
    scores = cross_validate(make_quick(), pd.Series(data.texts), matrix, cv=3, scoring=scoring)
    assert scores["test_score"].min() > 0.95


def test_grid_search(make_quick, data) -> None:
    grid = {
        "threshold": np.array([0.0, 0.5]),
        "settings": [{"linear.c": [1.0]}, {"linear.c": [10.0], "features.ngrams": np.int64(1)}],
    }
    search = GridSearchCV(make_quick(), grid, cv=2).fit(data.texts, data.label_sets)
    assert search.best_params_["threshold"] == 0.5  # at 0 every text gets all labels
    assert search.best_score_ > 0.9
    assert len(search.predict(data.texts)) == 90


@pytest.mark.parametrize(
    ("parameters", "kind", "message"),
    [
        ({"model": "bert"}, UnknownNameError, "model 'bert' is not known"),
        ({"preset": None}, UnknownNameError, "preset 'None' is not known"),
        ({"threads": 0}, ConfigError, "threads is 0; it must be >= 1"),
        ({"random_state": -1}, ConfigError, "seed is -1; it must be >= 0"),
        ({"settings": {"objective.lambda": 3}}, ConfigError, "objective.lambda is 3; it must be <= 1"),
        (
            {"settings": {"encoder.hiden": 3}},
            ConfigError,
            "encoder.hiden is not a setting, did you mean 'enc",
        ),
        (
            {"settings": {"seed": 3}},
            EstimatorInputError,
            "settings names 'seed'; the parameter random_state must be",
        ),
        (
            {"settings": {"data.text": "a"}},
            EstimatorInputError,
            "settings names 'data.text'; the texts of fit must",
        ),
        (
            {"settings": {3: "a"}},
            EstimatorInputError,
            "settings names 3; a name must be a string like section.name",
        ),
        ({"settings": ["a=3"]}, EstimatorInputError, "settings is of type list; it must be a mapping"),
        (
            {"validation_fraction": 1.0},
            EstimatorInputError,
            r"validation_fraction is 1.0; it must lie between 0 and",
        ),
        ({"threshold": 2}, InputError, r"threshold is 2; it must lie in \[0, 1\]"),
        ({"max_labels": 0}, InputError, "max_labels is 0; it must be >= 1"),
        ({"search": "best"}, UnknownNameError, "search 'best' is not known"),
    ],
)
def test_wrong_parameters_are_found_before_training(parameters, kind, message, data) -> None:
    with pytest.raises(kind, match=message):
        Seq2SetClassifier(**({"model": "br"} | parameters)).fit(data.texts, data.label_sets)
