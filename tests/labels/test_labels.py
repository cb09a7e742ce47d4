from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2set.core.errors import ConfigError, CorpusError, ModelFolderError
from seq2set.labels.labels import Labels, order_labels, rank_labels

NAMES = ("b", "a", "c", "d")
"""In descending frequency."""


@pytest.mark.parametrize(
    ("kind", "named", "depths", "order"),
    [
        ("descending", (), {}, "bacd"),
        ("shuffled", (), {}, "bacd"),
        ("ascending", (), {}, "dcab"),
        ("given", ("d", "nobody", "a"), {}, "dabc"),  # those not named come last, by frequency
        ("tree", (), {"b": 2, "c": 1, "a": 1}, "dacb"),  # d is in no tree and stands at the top
    ],
)
def test_orders(kind: str, named: tuple[str, ...], depths: dict[str, int], order: str) -> None:
    rank = rank_labels(kind, NAMES, named, depths)
    assert "".join(NAMES[label] for label in np.argsort(rank)) == order
    assert "".join(NAMES[label] for label in order_labels(np.arange(4), rank)) == order


@pytest.mark.parametrize(
    ("kind", "named", "sentence"),
    [
        ("tree", (), "label_order.kind is 'tree'; the corpus must have a label tree for it"),
        ("given", (), "label_order.kind is 'given'; label_order.given must name the labels"),
        ("given", ("x", "y"), "label_order.given begins with 'x'; it must name labels of the training split"),
    ],
)
def test_what_an_order_needs(kind: str, named: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        rank_labels(kind, NAMES, named, {})


@given(st.sets(st.integers(0, 3)), st.integers(0, 9))
def test_a_shuffle_keeps_the_labels(labels: set[int], seed: int) -> None:
    row = np.array(sorted(labels), np.int64)
    shuffled = order_labels(row, np.arange(4), np.random.default_rng(seed))
    assert sorted(shuffled.tolist()) == sorted(labels)


def test_labels_stand_in_descending_frequency_ties_by_name():
    # wheat 2, grain 2, corn 1 (a label repeated in one document counts once).
    labels = Labels.build([("wheat", "grain"), ("grain", "wheat"), ("corn", "corn"), ()])
    assert labels.names == ("grain", "wheat", "corn")
    assert labels.frequencies == (2, 2, 1)
    assert len(labels) == 3


def test_labels_are_found_by_name():
    labels = Labels.build([("b",), ("a", "b")])
    assert (labels.index("b"), labels.index("a"), labels.index("c")) == (0, 1, None)
    assert labels.decode(np.array([1, 0])) == ("a", "b")


@pytest.mark.parametrize("label_sets", [[], [(), ()]])
def test_no_label_at_all_is_refused(label_sets):
    message = "the training split has no label at all; at least one document needs a label"
    with pytest.raises(CorpusError, match=f"^{message}$"):
        Labels.build(label_sets)


def test_the_indicator_leaves_unknown_labels_out():
    labels = Labels.build([("b",), ("a", "b"), ("c",)])
    given_sets = [("c", "b", "c"), (), ("zz", "a", "zz"), ("yy",)]
    matrix = labels.indicator(given_sets)
    assert matrix.toarray().astype(int).tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert (matrix.format, matrix.dtype, matrix.has_canonical_format) == ("csr", np.bool_, True)


def test_the_indicator_of_nothing_has_all_columns():
    assert Labels.build([("a", "b")]).indicator([]).shape == (0, 2)


def test_labels_go_to_json_and_back():
    labels = Labels.build([("é", "a"), ("a",)])
    again = Labels.from_dict(json.loads(json.dumps(labels.to_dict())))
    assert (again.names, again.frequencies) == (("a", "é"), (2, 1))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"names": ["a"]},
        {"names": ["a"], "frequencies": []},
        {"names": [1], "frequencies": [1]},
        {"names": ["a"], "frequencies": ["1"]},
        {"names": "a", "frequencies": [1]},
    ],
)
def test_damaged_labels_are_refused(values):
    with pytest.raises(ModelFolderError, match="they must hold names and as many whole-number frequencies"):
        Labels.from_dict(values)


def test_a_label_named_twice_is_refused():
    with pytest.raises(ModelFolderError, match="the labels name one label twice; each must stand there once"):
        Labels.from_dict({"names": ["a", "a"], "frequencies": [2, 1]})
