"""Networks, examples and runs that are small enough to train in a test."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import torch

from seq2set.config import Config, validate
from seq2set.config.loader import merge_settings, nest_setting, parse_assignment
from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Silent
from seq2set.models.network import build_network
from seq2set.models.neural import NeuralTagger
from seq2set.models.seq2set import SetNetwork
from seq2set.models.tagger import Examples
from seq2set.training.train_network import train_network

TINY = (
    "threads=1",
    "text.min_frequency=1",
    "encoder.embedding=12",
    "encoder.hidden=8",
    "encoder.layers=1",
    "encoder.dropout=0.0",
    "decoder.embedding=8",
    "decoder.hidden=12",
    "decoder.layers=1",
    "decoder.dropout=0.0",
    "warm_start.epochs=1",
    "warm_start.learning_rate=0.01",
    "self_critical.epochs=0",
    "self_critical.learning_rate=0.001",
    "likelihood.epochs=1",
    "likelihood.learning_rate=0.01",
    "cnn.widths=[1, 2, 3]",
    "cnn.filters=8",
    "cnn.dropout=0.0",
    "training.batch_size=8",
    "training.device=cpu",
    "features.min_documents=1",
    "linear.c=[10.0]",
    "search.samples=8",
)
"""Settings of a network that trains in an instant, without dropout."""

SIGNS = {
    "grain": ("wheat", "harvest"),
    "oil": ("crude", "barrels"),
    "trade": ("tariff", "exports"),
    "money": ("bank", "rates"),
}
FILLER = ("the", "said", "a", "of", "market", "year")


def tiny_config(*settings: str, model: str = "seq2set") -> Config:
    """The paper's method, whatever the presets are, in tiny."""
    values: dict[str, Any] = {"model": model}
    for key, value in map(parse_assignment, [*TINY, *settings]):
        values = merge_settings(values, nest_setting(key, value))
    return validate(values)


def tiny_examples(count: int = 20, seed: int = 1) -> Examples:
    """Texts in which each label shows by words of its own; some have none."""
    draw = random.Random(seed)
    texts, label_sets = [], []
    for number in range(count):
        labels = draw.sample(sorted(SIGNS), 0 if number % 7 == 3 else draw.choice((1, 2, 3)))
        words = draw.choices(FILLER, k=draw.randint(1, 6)) + [draw.choice(SIGNS[one]) for one in labels]
        draw.shuffle(words)
        texts.append(" ".join(words))
        label_sets.append(tuple(labels))
    return Examples(texts, label_sets, [f"d{number}" for number in range(count)])


def tiny_network(config: Config, *, words: int = 30, labels: int = 4, seed: int = 3) -> SetNetwork:
    """A network with random weights that are large enough to make it say something."""
    torch.manual_seed(seed)
    network = build_network(config, words, labels)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(3.0)
    return network


def trained(
    folder: Path, config: Config, train: Examples | None = None, valid: Examples | None = None
) -> NeuralTagger:
    """Train in a new run folder, or go on with the one that is there; validate on other documents."""
    run = RunFolder.start(folder, config, resume=True)
    return train_network(config, train or tiny_examples(), valid or tiny_examples(12, seed=2), run, Silent())
