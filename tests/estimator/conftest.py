"""Texts in which each label shows by words of its own, and an estimator that has learnt them."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from seq2set import Seq2SetClassifier

SIGNS = {
    "grain": ("wheat", "harvest"),
    "oil": ("crude", "barrels"),
    "trade": ("tariff", "exports"),
}
FILLER = ("the", "said", "a", "of", "market", "year")


class Data(NamedTuple):
    texts: list[str]
    label_sets: list[tuple[str, ...]]


def drawn(count: int, seed: int) -> Data:
    draw = random.Random(seed)
    label_sets = [tuple(draw.sample(sorted(SIGNS), draw.choice((0, 1, 1, 2)))) for _ in range(count)]
    texts = []
    for labels in label_sets:
        words = draw.choices(FILLER, k=6) + [word for label in labels for word in SIGNS[label]]
        texts.append(" ".join(draw.sample(words, len(words))))
    return Data(texts, label_sets)


@pytest.fixture(scope="session")
def data() -> Data:
    return drawn(90, seed=7)


@pytest.fixture(scope="session")
def unseen() -> Data:
    return drawn(30, seed=6)


def quick(**parameters: Any) -> Seq2SetClassifier:
    """A linear model: it learns the texts above in a fraction of a second."""
    settings = {"linear.c": [10.0], "features.ngrams": 1} | parameters.pop("settings", {})
    return Seq2SetClassifier(**({"model": "br", "threads": 1, "settings": settings} | parameters))


@pytest.fixture(scope="session")
def make_quick():
    return quick


@pytest.fixture(scope="session")
def fitted(data: Data) -> Seq2SetClassifier:
    return quick().fit(data.texts, data.label_sets)
