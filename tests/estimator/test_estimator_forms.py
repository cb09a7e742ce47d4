from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_matrix, issparse
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, lambda t: pd.Series(t, dtype="string")])
def test_texts_of_any_kind(kind, make_quick, data, fitted) -> None:
    other = make_quick().fit(kind(data.texts), data.label_sets)
    assert np.array_equal(other.predict_proba(kind(data.texts)), fitted.predict_proba(data.texts))


def object_array(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


@pytest.mark.parametrize(
    "kind",
    [
        lambda y: [list(one) for one in y],
        lambda y: [set(one) for one in y],
        lambda y: tuple(frozenset(one) for one in y),
        lambda y: [np.array(one, dtype=object) for one in y],
        lambda y: pd.Series([list(one) for one in y], index=range(7, 7 + len(y))),
        object_array,
        lambda y: [one + one for one in y],  # a label that is named twice counts once
    ],
)
def test_label_sets_of_any_kind(kind, make_quick, data, fitted) -> None:
    y = kind(data.label_sets)
    other = make_quick().fit(data.texts, y)
    assert np.array_equal(other.predict_proba(data.texts), fitted.predict_proba(data.texts))
    assert other.score(data.texts, y) == fitted.score(data.texts, data.label_sets)


def test_labels_that_are_numbers(make_quick, data) -> None:
    numbers = {"grain": 2, "oil": 10, "trade": 9}
    y = [[np.int64(numbers[label]) for label in labels] for labels in data.label_sets]
    tagger = make_quick().fit(data.texts, y)
    assert tagger.classes_.tolist() == [2, 9, 10]  # as numbers: as strings 10 would come first
    ((label,),) = tagger.predict(["crude barrels"])
    assert (label, type(label)) == (10, int)
    assert tagger.score(data.texts, y) > 0.95


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, lambda m: m.astype(bool), lambda m: m.tolist()])
def test_dense_indicator_in_and_out(kind, make_quick, data, fitted) -> None:
    matrix = MultiLabelBinarizer().fit_transform(data.label_sets)
    tagger = make_quick().fit(data.texts, kind(matrix))
    given = tagger.predict(data.texts)
    assert isinstance(given, np.ndarray)
    assert given.dtype == np.int64
    assert np.array_equal(given, MultiLabelBinarizer().fit_transform(fitted.predict(data.texts)))
    assert tagger.classes_.tolist() == [0, 1, 2]
    assert tagger.score(data.texts, kind(matrix)) == f1_score(matrix, given, average="micro")


@pytest.mark.parametrize("kind", [csr_matrix, csc_array])
def test_sparse_indicator_in_and_out(kind, make_quick, data, fitted) -> None:
    matrix = MultiLabelBinarizer().fit_transform(data.label_sets)
    tagger = make_quick().fit(data.texts, kind(matrix))
    given = tagger.predict(data.texts)
    assert issparse(given)
    assert given.has_sorted_indices
    assert np.array_equal(given.toarray(), MultiLabelBinarizer().fit_transform(fitted.predict(data.texts)))
    assert tagger.score(data.texts, kind(matrix)) == fitted.score(data.texts, data.label_sets)


def test_columns_without_documents_stay(make_quick, data) -> None:
    full = MultiLabelBinarizer().fit_transform(data.label_sets)
    matrix = np.insert(full, 1, 0, axis=1)  # nobody has the label of column 1
    tagger = make_quick().fit(data.texts, matrix)
    assert tagger.classes_.tolist() == [0, 1, 2, 3]
    assert tagger.n_labels_ == 4
    assert tagger.predict_proba(data.texts)[:, 1].tolist() == [0] * 90
    assert tagger.predict(["crude barrels"]).tolist() == [[0, 0, 1, 0]]


def test_rows_of_a_matrix_in_a_list_are_a_matrix(make_quick, data) -> None:
    matrix = MultiLabelBinarizer().fit_transform(data.label_sets)
    whole = make_quick().fit(data.texts, matrix)
    for rows in (list(matrix), matrix.tolist(), tuple(matrix)):
        tagger = make_quick().fit(data.texts, rows)
        # As sets, rows of zeros and ones would be of the labels 0 and 1.
        assert tagger.classes_.tolist() == [0, 1, 2]
        assert np.array_equal(tagger.predict(data.texts), whole.predict(data.texts))
