from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2set.core.errors import ConfigError
from seq2set.labels.labels import order_labels, rank_labels

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
