"""Validation documents without a known word: rules are tuned on what prediction does with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seq2set.config import Config
from seq2set.config.catalog import MODELS
from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Silent
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.labels.rules import make_global_rule
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples, get_fit_function
from tiny_networks import tiny_config, tiny_examples


def half_strange() -> Examples:
    """As many documents without a known word as with one; all have the labels that a bias alone gives."""
    read = tiny_examples(21, seed=9)
    everything = [("grain", "oil", "trade", "money")] * len(read)
    return Examples([*read.texts, *["zebra quagga"] * len(read)], [*read.label_sets, *everything])


def run_of(folder: Path, config: Config, valid: Examples) -> Any:
    run = RunFolder.start(folder, config)
    return get_fit_function(config.model)(config, tiny_examples(), valid, run, Silent())


def reached(tagger: Any, valid: Examples, request: Request, metric: str = "micro_f1") -> float:
    return evaluate_tagger(tagger, valid, request).metrics[metric]


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
@pytest.mark.parametrize("model", MODELS)
def test_the_threshold_is_the_best_for_what_prediction_gives(tmp_path: Path, model: str, metric: str) -> None:
    valid, request = half_strange(), Request(search="marginal")
    config = tiny_config(f"decision.metric={metric}", model=model)
    tagger = run_of(tmp_path, config, valid)
    scores = np.unique(tagger.infer(valid.texts, request).scores)
    every = [
        reached(replace(tagger, rule=make_global_rule(float(one))), valid, request, metric) for one in scores
    ]
    assert reached(tagger, valid, request, metric) == pytest.approx(max(every), abs=1e-9)
    assert max(every) > 0.3


READERS = [
    *((model, ()) for model in MODELS),
    *((model, ("search.name=marginal",)) for model in ("seq2seq", "seq2set")),
    # A text may have no word that the encoder has a vector for, and one that the prior knows.
    ("seq2set", ("search.name=marginal", "prior.enabled=true", "encoder.words=2")),
    ("seq2set-simp", ("search.name=greedy", "prior.enabled=true", "encoder.words=2")),
]


@pytest.mark.parametrize(("model", "settings"), READERS)
def test_the_figure_in_the_history_is_that_of_prediction(
    tmp_path: Path, model: str, settings: tuple[str, ...]
) -> None:
    valid = half_strange()
    tagger = run_of(tmp_path, tiny_config("warm_start.epochs=4", *settings, model=model), valid)
    best = max(look["micro_f1"] for look in RunFolder(tmp_path).records())
    assert best == pytest.approx(reached(tagger, valid, Request()), abs=1e-9)
    assert best > 0.1
