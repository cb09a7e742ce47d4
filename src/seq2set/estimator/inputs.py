"""What users of scikit-learn hand over: lists, arrays, Series or tables; label sets or indicator matrices.

A table is what has named columns: a DataFrame of pandas or polars, a `datasets.Dataset`, a table of Arrow.
Inside this package a label is a name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, issparse

from seq2set.core.errors import InputError
from seq2set.corpora.readers.cells.columns import clean_labels


class EstimatorInputError(InputError, ValueError):
    """What was handed to the estimator is wrong; a `ValueError` too, because scikit-learn expects one."""


class LabelFormat(NamedTuple):
    """How label sets were given, so that predictions have that form."""

    kind: Literal["sets", "indicator", "sparse"] = "sets"
    numbers: bool = False
    """Whether labels are whole numbers; they are strings otherwise."""
    columns: int = 0
    """The width of an indicator matrix."""
    names: Sequence[str] = ()
    """The names of its columns, where it has any."""

    def classes(self, names: Collection[str]) -> npt.NDArray[Any]:
        """Return the labels as they were given, in ascending order, or the columns of a matrix."""
        if self.kind != "sets":
            return np.array(self.names, dtype=object) if self.names else np.arange(self.columns)
        if self.numbers:
            return np.array(sorted(map(int, names)))
        return np.array(sorted(names), dtype=object)


class Targets(NamedTuple):
    """The label set of each text by names, and how it was given."""

    sets: list[tuple[str, ...]]
    form: LabelFormat


class NamedColumns(NamedTuple):
    """A table by its columns."""

    names: list[Any]
    values: Any

    @classmethod
    def of(cls, X: Any) -> NamedColumns | None:
        """Return the columns of a table, or None of what is none."""
        for attribute in ("column_names", "columns"):  # of datasets and Arrow, of pandas and polars
            if isinstance(names := getattr(X, attribute, None), Iterable):
                return cls(list(names), X)
        return None

    def column(self, name: str, parameter: str) -> Any:
        """Return a column, or say which ones there are."""
        if name not in self.names:
            raise EstimatorInputError(f"{parameter} names the column {name!r}; X has {_shorten(self.names)}")
        return self.values[name]

    def matrix(self, names: Sequence[str]) -> npt.NDArray[Any]:
        """Return columns side by side."""
        return np.column_stack([_to_list(self.column(name, "y"), "y", "labels") for name in names])


def take_targets(X: Any, y: Any) -> Any:
    """Return the labels: `y` itself, or the column of the table `X` that it names, by default `labels`."""
    table = NamedColumns.of(X)
    if table is None:
        return y
    if y is None or isinstance(y, str):
        return table.column("labels" if y is None else y, "y")
    one_hot = isinstance(y, list | tuple) and bool(y) and all(isinstance(one, str) for one in y)
    return NamedMatrix(table.matrix(y), list(y)) if one_hot else y


class NamedMatrix(NamedTuple):
    """An indicator matrix with the names of its columns."""

    values: npt.NDArray[Any]
    names: list[str]


def check_texts(X: Any, column: str = "text") -> list[str]:
    """Return the texts, or a table's column of them, as a list of strings, or say which one is none."""
    if (table := NamedColumns.of(X)) is not None:
        X = table.column(column, "text")
    if isinstance(X, str | bytes):
        raise EstimatorInputError(f"X is the single text {_shorten(X)}; it must be a list of texts")
    if issparse(X):
        raise EstimatorInputError(f"X is a sparse matrix, {type(X).__name__}; it must be a list of texts")
    texts = _to_list(X, "X", "texts")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise EstimatorInputError(
                f"X[{place}] is {_shorten(text)} of type {type(text).__name__}; it must be a text"
            )
    return [str(text) for text in texts]


def check_weights(values: Any, documents: int) -> npt.NDArray[np.float64] | None:
    """Return the weight of each text, or say what is wrong with them."""
    if values is None:
        return None
    try:
        weights = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise EstimatorInputError(f"sample_weight holds {_shorten(values)}; it must hold numbers") from None
    if weights.shape != (documents,):
        raise EstimatorInputError(
            f"sample_weight has the shape {weights.shape}; it must have a number per text, ({documents},)"
        )
    for value in weights[~(np.isfinite(weights) & (weights >= 0))][:1]:
        raise EstimatorInputError(f"sample_weight holds {value:g}; weights must be finite and >= 0")
    return weights


def check_targets(y: Any, documents: int, expected: LabelFormat | None = None) -> Targets:
    """Return the label sets by names; where a form is expected, another one is refused."""
    if y is None:
        raise EstimatorInputError(
            "the estimator requires y to be passed, but the target y is None; it must hold a label set a text"
        )
    if (table := NamedColumns.of(y)) is not None and not isinstance(y, NamedMatrix):
        y = _name_matrix(table, y)
    sets_expected = expected is not None and expected.kind == "sets"
    bits = not sets_expected and _is_matrix_in_lists(y)
    # Pairs of 0 and 1 in lists: all others have a label twice, or are no two numbers.
    if bits and expected is None and all(len(row) == 2 and set(map(int, row)) == {0, 1} for row in y):
        raise EstimatorInputError(
            f"y holds {_shorten(y[0])} and the like, which can be rows of a matrix or sets of labels; pass a "
            "NumPy array for a matrix, or Python sets for label sets"
        )
    named = isinstance(y, NamedMatrix)
    matrix = named or issparse(y) or getattr(y, "ndim", 1) == 2 or bits
    targets = _from_matrix(y, expected) if matrix else _from_sets(y)
    if len(targets.sets) != documents:
        raise EstimatorInputError(
            f"X holds {documents} texts and y {len(targets.sets)} label sets; they must be as many"
        )
    if expected is not None:
        _refuse_other_form(targets, expected)
    return targets


def _to_list(values: Any, name: str, what: str) -> list[Any]:
    if getattr(values, "ndim", 1) != 1:
        raise EstimatorInputError(
            f"{name} is an array of shape {values.shape}; it must have one dimension, of {what}"
        )
    if not isinstance(values, Sequence) and not hasattr(values, "__array__"):
        raise EstimatorInputError(
            f"{name} is of type {type(values).__name__}; it must be a list, tuple, array or Series of {what}"
        )
    for convert in ("to_pylist", "to_list"):  # of Arrow, of pandas and polars
        if hasattr(values, convert):
            return list(getattr(values, convert)())
    return list(values)


def _name_matrix(table: NamedColumns, y: Any) -> Any:
    """Keep the names of a table's columns, unless they are numbers that pandas gave them."""
    if not all(isinstance(name, str) for name in table.names):
        return np.asarray(y)
    if len(set(table.names)) < len(table.names):
        raise EstimatorInputError(
            f"y has two columns of one name among {_shorten(table.names)}; each must have its own"
        )
    return NamedMatrix(table.matrix(table.names), table.names)


def _is_matrix_in_lists(y: Any) -> bool:
    """Whether equally long rows hold zeros and ones alone: as sets they would say nothing."""
    rows = y if isinstance(y, list | tuple) else ()
    if not all(isinstance(row, list | tuple | np.ndarray) and len(row) == len(rows[0]) > 1 for row in rows):
        return False
    return len(rows) > 0 and all(
        isinstance(bit, int | np.integer) and bit in (0, 1) for r in rows for bit in r
    )


def _from_matrix(y: Any, expected: LabelFormat | None = None) -> Targets:
    named = y if isinstance(y, NamedMatrix) else NamedMatrix(y, [])
    given: Any = named.values if issparse(y) else np.asarray(named.values)
    if given.dtype.kind not in "biuf":
        raise EstimatorInputError(
            f"y is a matrix of type {given.dtype}; it must be an indicator matrix of 0 and 1, "
            "or a list of label sets"
        )
    matrix = csr_matrix(given, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    for value in matrix.data[matrix.data != 1][:1]:
        raise EstimatorInputError(f"y holds {value:g}; an indicator matrix must hold only 0 and 1")
    rows = np.split(matrix.indices, matrix.indptr[1:-1]) if matrix.shape[0] else []
    names = named.names or (expected.names if expected and expected.columns == matrix.shape[1] else ())
    form = LabelFormat("sparse" if issparse(y) else "indicator", not names, matrix.shape[1], tuple(names))
    return Targets([tuple(names[column] if names else str(column) for column in row) for row in rows], form)


def _from_sets(y: Any) -> Targets:
    if isinstance(y, str | bytes):
        raise EstimatorInputError(f"y is the single text {_shorten(y)}; it must be a list of label sets")
    rows = [_check_labels(row, place) for place, row in enumerate(_to_list(y, "y", "label sets"))]
    kinds = {isinstance(label, str): label for row in rows for label in row}
    if len(kinds) > 1:
        raise EstimatorInputError(
            f"y holds labels of two kinds, such as '{kinds[True]}' and {kinds[False]}; "
            "they must be all strings, or all whole numbers"
        )
    # A set is given in an order that changes from run to run. Cells that were split hold spaces and nothing.
    sets = [tuple(sorted(clean_labels(map(str, row)))) for row in rows]
    return Targets(sets, LabelFormat("sets", False in kinds))


def _check_labels(row: Any, place: int) -> list[Any]:
    if isinstance(row, str | bytes | Mapping) or not isinstance(row, Collection):
        example = f", such as {[row]!r}" if isinstance(row, str) and len(row) < 40 else ""
        raise EstimatorInputError(
            f"y[{place}] is {_shorten(row)}; it must be a list, tuple or set of labels{example}"
        )
    labels = list(row)
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, str | int | np.integer):
            raise EstimatorInputError(
                f"y[{place}] holds the label {_shorten(label)} of type {type(label).__name__}; "
                "labels must be all strings, or all whole numbers"
            )
    return labels


def _refuse_other_form(targets: Targets, expected: LabelFormat) -> None:
    given = targets.form
    if (given.kind == "sets") != (expected.kind == "sets"):
        forms = {True: "label sets", False: "an indicator matrix"}
        raise EstimatorInputError(
            f"y is {forms[given.kind == 'sets']}; the model was fitted to {forms[expected.kind == 'sets']}"
        )
    if given.columns != expected.columns:
        raise EstimatorInputError(
            f"y has {given.columns} columns; the model was fitted to {expected.columns}"
        )
    if set(given.names) != set(expected.names):
        raise EstimatorInputError(
            f"y has the columns {_shorten(list(given.names))}; the model was fitted to "
            f"{_shorten(list(expected.names))}"
        )
    if any(targets.sets) and given.numbers != expected.numbers:
        kinds = {True: "whole numbers", False: "strings"}
        raise EstimatorInputError(
            f"the labels of y are {kinds[given.numbers]}; the model was fitted to {kinds[expected.numbers]}"
        )


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
