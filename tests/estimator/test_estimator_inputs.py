from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_matrix

from seq2set.core.errors import InputError
from seq2set.estimator.inputs import EstimatorInputError, LabelFormat, check_targets, check_texts


def test_the_errors_are_of_both_kinds() -> None:
    assert issubclass(EstimatorInputError, InputError)
    assert issubclass(EstimatorInputError, ValueError)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a text", "X is the single text 'a text'; it must be a list of texts"),
        (b"a text", "X is the single text b'a text'; it must be a list of texts"),
        (["a", 5], r"X\[1\] is 5 of type int; it must be a text"),
        (pd.Series(["a", None, "b"]), r"X\[1\] is (None|nan) of type \w+; it must be a text"),
        ([b"a"], r"X\[0\] is b'a' of type bytes; it must be a text"),
        ([["x" * 99]], r"X\[0\] is \['x{55}\.\.\. of type list"),
        (np.zeros((4, 2)), r"X is an array of shape \(4, 2\); it must have one dimension, of texts"),
        (pd.DataFrame({"body": ["a"]}), r"text names the column 'text'; X has \['body'\]"),
        (csr_matrix((4, 2)), "X is a sparse matrix, csr_matrix; it must be a list of texts"),
        ({"a", "b"}, "X is of type set; it must be a list, tuple, array or Series of texts"),
        ({"a": 1}, "X is of type dict; it must be a list, tuple, array or Series of texts"),
        (None, "X is of type NoneType; it must be"),
    ],
)
def test_wrong_texts(texts, message: str) -> None:
    with pytest.raises(EstimatorInputError, match=message):
        check_texts(texts)


def test_texts_become_plain_strings() -> None:
    assert [type(text) for text in check_texts(np.array(["a", "b"]))] == [str, str]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None; it must hold a label set a text"),
        ("ab", "y is the single text 'ab'; it must be a list of label sets"),
        (["a", "b"], r"y\[0\] is 'a'; it must be a list, tuple or set of labels, such as \['a'\]"),
        ([["a"], {"b": 1}], r"y\[1\] is \{'b': 1\}; it must be a list, tuple or set of labels"),
        (pd.Series([["a"], None]), r"y\[1\] is (None|nan); it must be a list, tuple or set of labels"),
        (np.array([0, 1]), r"y\[0\] is np.int64\(0\); it must be a list, tuple or set of labels"),
        ([["a"], [2.5]], r"y\[1\] holds the label 2.5 of type float; labels must be all strings"),
        ([["a"], [True]], r"y\[1\] holds the label True of type bool; labels must be all strings"),
        (
            [["a"], [3]],
            "y holds labels of two kinds, such as 'a' and 3; they must be all strings, or all whole",
        ),
        ([["a"]], "X holds 2 texts and y 1 label sets; they must be as many"),
        ([["a"]] * 3, "X holds 2 texts and y 3 label sets; they must be as many"),
        (
            np.array([["a", "b"], ["c", "d"]]),
            "y is a matrix of type <U1; it must be an indicator matrix of 0 and 1",
        ),
        (np.array([[0, 2], [1, 0]]), "y holds 2; an indicator matrix must hold only 0 and 1"),
        (np.array([[0, np.nan], [1, 0]]), "y holds nan; an indicator matrix must hold only 0 and 1"),
        (csr_matrix([[0, -1], [1, 0]]), "y holds -1; an indicator matrix must hold only 0 and 1"),
        (
            coo_matrix(([1, 1], ([0, 0], [1, 1])), (2, 2)),
            "y holds 2; an indicator matrix must hold only 0 and 1",
        ),
        (
            np.zeros((2, 2, 2)),
            r"y is an array of shape \(2, 2, 2\); it must have one dimension, of label sets",
        ),
        ({("a",), ("b",)}, "y is of type set; it must be a list, tuple, array or Series of label sets"),
    ],
)
def test_wrong_labels(y, message: str) -> None:
    with pytest.raises(EstimatorInputError, match=message):
        check_targets(y, 2)


@pytest.mark.parametrize(
    ("y", "form", "message"),
    [
        (
            [["a"], []],
            LabelFormat("indicator", True, 2),
            "y is label sets; the model was fitted to an indicator matrix",
        ),
        (np.eye(2), LabelFormat(), "y is an indicator matrix; the model was fitted to label sets"),
        (np.eye(2), LabelFormat("sparse", True, 3), "y has 2 columns; the model was fitted to 3"),
        ([[1], []], LabelFormat(), "the labels of y are whole numbers; the model was fitted to strings"),
        (
            [["1"], []],
            LabelFormat(numbers=True),
            "the labels of y are strings; the model was fitted to whole numbers",
        ),
    ],
)
def test_labels_in_another_form_than_those_of_fit(y, form: LabelFormat, message: str) -> None:
    with pytest.raises(EstimatorInputError, match=message):
        check_targets(y, 2, form)


def test_no_text_with_a_label(make_quick) -> None:
    with pytest.raises(
        EstimatorInputError, match="y holds no label for any of 2 texts; at least one text must"
    ):
        make_quick().fit(["a", "b"], [[], []])
    with pytest.raises(EstimatorInputError, match="y holds no label for any of 0 texts"):
        make_quick().fit([], [])


def test_nothing_to_measure_on(fitted) -> None:
    with pytest.raises(
        EstimatorInputError, match="X is empty; at least one text must be there to measure on"
    ):
        fitted.score([], [])


def test_rows_of_zeros_and_ones_are_a_matrix_unless_sets_are_expected() -> None:
    rows = [[0, 1, 1], [1, 0, 0]]
    assert check_targets(rows, 2) == ([("1", "2"), ("0",)], LabelFormat("indicator", True, 3))
    assert check_targets([[0, 1], [1, 0]], 2, LabelFormat(numbers=True)).sets == [("0", "1"), ("0", "1")]
    assert check_targets([[0, 1], [1, 2]], 2).sets == [("0", "1"), ("1", "2")]
    assert check_targets([[1], [0]], 2).form == LabelFormat("sets", numbers=True)
    assert check_targets([], 0) == ([], LabelFormat())


def test_texts_without_labels_are_of_either_kind() -> None:
    assert check_targets([[], ()], 2, LabelFormat(numbers=True)).sets == [(), ()]


def test_what_is_given_stays_as_it_was() -> None:
    matrix = csr_matrix((np.array([1, 0]), np.array([1, 0]), np.array([0, 1, 2])), shape=(2, 2))
    assert check_targets(matrix, 2).sets == [("1",), ()]
    assert matrix.nnz == 2  # with its zero that is stored


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=8))
def test_sets_and_matrices_say_the_same(sets: list[set[int]]) -> None:
    matrix = np.zeros((len(sets), 6), int)
    for row, labels in enumerate(sets):
        matrix[row, list(labels)] = 1
    expected = check_targets(sets, len(sets)).sets
    assert check_targets(matrix, len(sets)).sets == expected
    assert check_targets(csr_matrix(matrix), len(sets)).sets == expected
    assert check_targets(matrix.tolist(), len(sets)).sets == expected


def test_labels_that_are_strings_are_cleaned_as_those_of_files(make_quick) -> None:
    cells = ["alpha; beta", "", " alpha ;;alpha", "beta\0"] * 20
    texts = ["wheat crude", "the year", "wheat", "crude"] * 20
    fitted = make_quick().fit(texts, [cell.split(";") for cell in cells])
    assert fitted.classes_.tolist() == ["alpha", "beta"]
    assert [sorted(one) for one in fitted.predict(texts[:4])] == [["alpha", "beta"], [], ["alpha"], ["beta"]]
    given = [cell.split(";") for cell in cells]
    assert fitted.score(texts, given) == fitted.score(texts, given, sample_weight=[2] * 80) == 1
    assert check_targets([["", " "], [np.str_(" a")]], 2).sets == [(), ("a",)]
    with pytest.raises(EstimatorInputError, match="y holds no label for any of 2 texts"):
        make_quick().fit(texts[:2], [[""], [" "]])


def test_labels_of_numbers_and_of_columns_stay_as_they_are() -> None:
    assert check_targets([[3, 1], [np.int64(1)]], 2) == ([("1", "3"), ("1",)], LabelFormat("sets", True))
    columns = pd.DataFrame({" alpha": [1, 0], "": [0, 1]})
    assert check_targets(columns, 2).sets == [(" alpha",), ("",)]
