"""How cost grows with the number of documents, their words and the labels: exponents of fitted power laws.

An exponent of 1 says that twice as much takes twice as long. What is done once per batch makes small sizes
dear, so that the exponent between the two largest sizes stands beside: it is what further growth costs.
Labels cost less than 1 as long as the encoder, which does not know of them, takes most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from seq2set.benchmarks.inputs import (
    DocumentShape,
    batch_by_length,
    build_learner,
    configure,
    make_documents,
    make_texts,
    open_model,
)
from seq2set.benchmarks.ratio import Ratio, time_call
from seq2set.core.hardware import limit_threads
from seq2set.inference.predictor import Predictor

STEPS = {"documents": (1, 10, 100), "words": (1, 3, 10), "labels": (1, 10, 100)}
"""How many times the smallest size is measured."""

VOCABULARY = 2_000
"""Words that documents to train on have."""

Measure = Callable[["WorkSizes", Sequence[str]], float]


class WorkSizes(NamedTuple):
    """What cost may depend on."""

    documents: int
    words: int
    labels: int


def measure_scaling(
    documents: int = 50,
    *,
    words: int = 30,
    labels: int = 50,
    steps: dict[str, Sequence[int]] | None = None,
    settings: Sequence[str] = (),
) -> Ratio:
    """Predict and train on sizes up to a hundred times the smallest, one kind of size after the other.

    The ratio is that of the seconds per document of prediction with the fewest documents to those with the
    most. Other sizes stay at the smallest but for the documents, of which there are ten times as many then.
    """
    smallest = WorkSizes(documents, words, labels)
    found: dict[str, Any] = {}
    for verb, measure in MEASURES.items():
        found[verb] = {}
        for name, times in (steps or STEPS).items():
            base = smallest if name == "documents" else smallest._replace(documents=documents * 10)
            sizes = [base._replace(**{name: one * getattr(base, name)}) for one in times]
            points = {getattr(one, name): measure(one, settings) for one in sizes}
            last = dict(list(points.items())[-2:])
            exponents = {"exponent": fit_exponent(points), "last_exponent": fit_exponent(last)}
            found[verb][name] = {"seconds": points} | {key: round(one, 3) for key, one in exponents.items()}
    few, *_, many = found["predict"]["documents"]["seconds"].items()
    checks = {
        **{
            f"{key}s": {
                verb: {name: one[key] for name, one in kinds.items()} for verb, kinds in found.items()
            }
            for key in ("exponent", "last_exponent")
        },
        "points": found,
    }
    opponent = "the same per document with the fewest documents"
    return Ratio("scaling", opponent, many[1] / many[0], few[1] / few[0], smallest._asdict(), checks)


def fit_exponent(points: dict[int, float]) -> float:
    """Return the exponent of the power law that fits seconds by size best, in logarithms."""
    slope, _ = np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)
    return float(slope)


def time_prediction(sizes: WorkSizes, settings: Sequence[str]) -> float:
    """Time the prediction of texts with the default model."""
    texts = make_texts(sizes.documents, words=sizes.words)
    with open_model(None, settings, labels=sizes.labels) as (model, _):
        predictor = Predictor.open(model)
    with limit_threads(1):
        predictor.predict(texts[:2])  # what is done once
        return time_call(partial(predictor.predict, texts))


def time_training(sizes: WorkSizes, settings: Sequence[str]) -> float:
    """Time the updates of one epoch by likelihood."""
    shape = DocumentShape(max(2, sizes.words // 2), sizes.words * 3 // 2, VOCABULARY, sizes.labels)
    own = ("prior.enabled=false", *settings)
    learner = build_learner(configure("seq2set", own, preset="compact"), shape)
    examples = make_documents(sizes.documents, shape)
    batches = batch_by_length(examples, learner.batch_size)

    def train() -> None:
        for index in batches:
            learner.update(examples.batch(index), "warm-start")

    with limit_threads(1):
        learner.update(examples.batch(batches[0][:2]), "warm-start")
        return time_call(train)


MEASURES: dict[str, Measure] = {"predict": time_prediction, "train": time_training}
