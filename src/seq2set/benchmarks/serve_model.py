"""A model for benchmarks of the server: the default preset's sizes, random weights, sets of a few labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from seq2set.benchmarks.texts import zipf_texts
from seq2set.bundle import save_model
from seq2set.config import build_config
from seq2set.models.building import build_network
from seq2set.models.neural import NeuralTagger
from seq2set.rules import global_rule
from seq2set.vocabulary import Labels, Words

LABELS = 54
SET_SIZE = 4
"""Untrained decoders hardly ever end by themselves."""


def save_made_model(folder: Path, settings: Sequence[str] = ()) -> None:
    """Write a model folder; `settings` (`a.b=v`) change the sizes."""
    config = build_config(model="seq2set", assignments=["prior.enabled=false", *settings])
    torch.manual_seed(config.seed)
    words = Words.build(zipf_texts(2_000), **config.text.model_dump())
    labels = Labels([f"label {number}" for number in range(LABELS)], range(LABELS, 0, -1))
    network = build_network(config, len(words), LABELS, SET_SIZE)
    tagger = NeuralTagger(config, words, labels, network, None, global_rule(0.5))
    save_model(tagger, folder, card="Made for a benchmark: its weights are random.\n", about={})
