"""Runs of all eight models that train in an instant, and a network on both runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seq2set.config import build_config
from seq2set.config.catalog import find_model
from seq2set.core.names import load_named
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.graphs.check import name_graph_files, write_graph_files
from seq2set.inference.onnx_decoder import Sessions
from seq2set.labels.labels import Labels
from seq2set.labels.rules import make_global_rule
from seq2set.models.neural import NeuralTagger
from seq2set.text.vocabulary import Words
from seq2set.workflows.train import train
from tiny_networks import TINY, tiny_config, tiny_examples, tiny_network

LINEAR = ("br", "cc", "lp")
NETWORKS = ("cnn", "cnn-rnn", "seq2seq", "seq2set-simp", "seq2set")


def train_tiny(model: str, corpus: PreparedCorpus, folder: Path) -> Path:
    """Train a model in tiny; set networks with a linear prior."""
    own = [one for one in TINY if not one.startswith("threads")]
    settings = [f'data.corpus="{corpus.folder}"', "threads=1", "prior.enabled=true", *own]
    train(build_config(model=model, assignments=settings), folder / model)
    return folder / model


def on_both_runtimes(folder: Path, model: str, *settings: str) -> tuple[NeuralTagger, NeuralTagger, Any]:
    """A network with random weights, on torch and on ONNX Runtime, and texts for it."""
    examples, config = tiny_examples(40), tiny_config(*settings, model=model)
    words, labels = (
        Words.build(examples.texts, **config.text.model_dump()),
        Labels.build(examples.label_sets),
    )
    network: Any = tiny_network(config, words=len(words), labels=len(labels))
    network.max_labels = None if model == "cnn" else 3
    weights, kind = network.tensors(), load_named(find_model(model).onnx)
    graphs = kind.build_graphs(config, weights)
    write_graph_files(folder, graphs)
    sessions = Sessions(folder, name_graph_files(graphs))
    opened = kind(sessions, config, len(labels), network.max_labels, lambda: weights)
    torch, other = (
        NeuralTagger(config, words, labels, one, None, make_global_rule(0.5)) for one in (network, opened)
    )
    return torch, other, examples.texts
