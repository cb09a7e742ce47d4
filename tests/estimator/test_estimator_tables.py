"""Tables of several libraries, the names of their columns, and what else scikit-learn's users expect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import MultiLabelBinarizer

from seq2set.estimator import EstimatorInputError, Seq2SetClassifier

LABELS = ["grain", "oil", "trade"]


class HubDataset:
    """The part of `datasets.Dataset` that is used: names of columns, and columns by name."""

    def __init__(self, columns: dict[str, list[Any]]):
        self._columns = columns
        self.column_names = list(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]


TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "datasets": HubDataset}


@pytest.fixture(params=TABLES)
def make_table(request: pytest.FixtureRequest) -> Any:
    return TABLES[request.param]


@pytest.fixture(scope="module")
def bits(data) -> np.ndarray:
    found: np.ndarray = MultiLabelBinarizer(classes=LABELS).fit_transform(data.label_sets)
    return found


def test_a_table_of_texts_and_labels(make_table, make_quick, data, fitted) -> None:
    table = make_table(
        {"text": data.texts, "labels": [list(one) for one in data.label_sets], "year": [1] * 90}
    )
    tagger = make_quick().fit(table)
    assert tagger.predict(table) == fitted.predict(data.texts)
    assert tagger.score(table) == fitted.score(data.texts, data.label_sets)
    assert np.array_equal(tagger.predict_proba(table), fitted.predict_proba(data.texts))


def test_columns_of_other_names(make_table, make_quick, data, fitted, tmp_path) -> None:
    table = make_table({"body": data.texts, "tags": [list(one) for one in data.label_sets]})
    tagger = make_quick().fit(table, "tags", text="body")
    tagger.save(tmp_path / "model")
    for one in (tagger, Seq2SetClassifier.load(tmp_path / "model")):
        assert one.predict(table) == fitted.predict(data.texts)
        assert one.score(table, "tags") == fitted.score(data.texts, data.label_sets)


def test_one_hot_columns_are_named(make_table, make_quick, data, bits, fitted, tmp_path) -> None:
    table = make_table({"text": data.texts} | {name: bits[:, n].tolist() for n, name in enumerate(LABELS)})
    tagger = make_quick().fit(table, ["trade", "grain", "oil"])
    assert tagger.classes_.tolist() == ["trade", "grain", "oil"]
    assert set(tagger.tagger_.labels.names) == set(LABELS)
    expected = MultiLabelBinarizer(classes=LABELS).fit_transform(fitted.predict(data.texts))
    assert np.array_equal(tagger.predict(table), expected[:, [2, 0, 1]])
    assert tagger.score(table, ["grain", "oil", "trade"]) == fitted.score(data.texts, data.label_sets)
    tagger.save(tmp_path / "model")
    assert Seq2SetClassifier.load(tmp_path / "model").classes_.tolist() == ["trade", "grain", "oil"]


def test_a_table_as_y_keeps_its_names(make_table, make_quick, data, bits, fitted) -> None:
    y = make_table({name: bits[:, n].tolist() for n, name in enumerate(LABELS)})
    tagger = make_quick().fit(data.texts, y)
    assert tagger.classes_.tolist() == LABELS
    assert tagger.score(data.texts, y) == fitted.score(data.texts, data.label_sets)
    # A matrix without names is taken by its columns.
    assert tagger.score(data.texts, bits) == tagger.score(data.texts, csr_matrix(bits))
    other = make_table({name: bits[:, n].tolist() for n, name in enumerate(["grain", "gas", "trade"])})
    with pytest.raises(
        EstimatorInputError, match=r"y has the columns \['grain', 'gas', 'trade'\]; the model"
    ):
        tagger.score(data.texts, other)


def test_wrong_columns(make_quick, data) -> None:
    frame = pd.DataFrame({"text": data.texts, "tags": data.label_sets})
    with pytest.raises(EstimatorInputError, match=r"y names the column 'labels'; X has \['text', 'tags'\]"):
        make_quick().fit(frame)
    with pytest.raises(EstimatorInputError, match=r"text names the column 'body'; X has \['text', 'tags'\]"):
        make_quick().fit(frame, "tags", text="body")
    twice = pd.DataFrame([[0, 1]] * 90, columns=["a", "a"])
    with pytest.raises(EstimatorInputError, match=r"y has two columns of one name among"):
        make_quick().fit(data.texts, twice)


def test_pairs_of_0_and_1_are_not_taken_for_a_matrix(make_quick) -> None:
    pairs = [[0, 1], [1, 0], [1, 0], [0, 1]] * 5
    texts = ["wheat harvest", "crude barrels", "crude oil", "wheat corn"] * 5
    with pytest.raises(
        EstimatorInputError, match=r"y holds \[0, 1\] and the like, which can be rows of a matrix"
    ):
        make_quick().fit(texts, pairs)
    assert make_quick().fit(texts, np.array(pairs)).predict(texts[:1]).tolist() == [[0, 1]]
    assert make_quick().fit(texts, [set(one) for one in pairs]).classes_.tolist() == [0, 1]


def test_polars_series(make_quick, data, fitted) -> None:
    texts, sets = pl.Series(data.texts), pl.Series([list(one) for one in data.label_sets])
    tagger = make_quick().fit(texts, sets)
    assert tagger.predict(texts) == fitted.predict(data.texts)


def test_cross_val_predict_takes_a_matrix(make_quick, data, bits) -> None:
    given = cross_val_predict(make_quick(), data.texts, bits, cv=3)
    assert given.shape == bits.shape
    assert (given == bits).mean() > 0.9
    chances = cross_val_predict(make_quick(), data.texts, bits, cv=3, method="predict_proba")
    assert np.asarray(chances).shape == bits.shape


def test_decisions_are_what_is_given(make_quick, data, bits, fitted) -> None:
    tagger = make_quick().fit(data.texts, bits)
    texts = [*data.texts, "wheat crude"]
    for threshold in (None, 0.9):
        tagger.set_params(threshold=threshold)
        assert np.array_equal(tagger.decision_function(texts) >= 0, tagger.predict(texts).astype(bool))
    tagger.set_params(threshold=None, top_k=1)
    chances = tagger.predict_proba(texts)
    assert np.array_equal(tagger.decision_function(texts), chances - np.float32(0.5))


def test_labels_are_explained(fitted, make_quick, data, bits) -> None:
    ((first, *_),) = fitted.explain(["a good wheat harvest"])
    assert first.label == "grain"
    assert {part for word in first.evidence for part in word.word.split()} & {"wheat", "harvest"}
    assert fitted.explain([]) == []
    ((number, *_),) = make_quick().fit(data.texts, bits).explain(["a good wheat harvest"])
    assert number.label == 0  # the column of the matrix


def test_weights_are_refused(make_quick, data, fitted) -> None:
    said = "weight is given, and there is no such parameter"
    with pytest.raises(EstimatorInputError, match=said):
        make_quick().fit(data.texts, data.label_sets, weight=[1] * 90)
    with pytest.raises(EstimatorInputError, match=said):
        fitted.score(data.texts, data.label_sets, weight=[1] * 90)
    with pytest.raises(EstimatorInputError, match="epochs is given, and there is no such parameter$"):
        make_quick().fit(data.texts, data.label_sets, epochs=3)
