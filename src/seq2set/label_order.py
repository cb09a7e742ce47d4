"""The order in which the sequence decoder learns labels; numbers follow descending training frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from seq2set.errors import ConfigError

Ints = npt.NDArray[np.int64]


def ranks(kind: str, names: Sequence[str], given: Sequence[str], depths: Mapping[str, int]) -> Ints:
    """Return each label's rank in the order: the label of rank 0 comes first.

    `names` are the labels in descending frequency; `depths` says how deep each stands in the label tree.
    """
    size = len(names)
    if kind == "ascending":
        return np.arange(size - 1, -1, -1)
    if kind == "tree":
        if not depths:
            raise ConfigError(["label_order.kind is 'tree'; the corpus must have a label tree for it"])
        # A stable sort: labels of one depth stay in descending frequency.
        order = np.argsort([depths.get(name, 0) for name in names], kind="stable")
        return _inverse(order)
    if kind == "given":
        if not given:
            raise ConfigError(["label_order.kind is 'given'; label_order.given must name the labels"])
        if not set(given) & set(names):
            raise ConfigError(
                [f"label_order.given begins with '{given[0]}'; it must name labels of the training split"]
            )
        places = {name: place for place, name in enumerate(given)}
        return _inverse(np.argsort([places.get(name, len(places)) for name in names], kind="stable"))
    return np.arange(size)


def ordered(labels: Ints, rank: Ints, shuffle: np.random.Generator | None = None) -> Ints:
    """Put one document's labels in order, or shuffle them."""
    return labels[np.argsort(rank[labels])] if shuffle is None else shuffle.permutation(labels)


def _inverse(order: Ints) -> Ints:
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank
