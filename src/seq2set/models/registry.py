"""Which code stands behind a model's name; loaded when it is asked for, so that names cost nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from seq2set.core.errors import UnknownNameError
from seq2set.models.tagger import Tagger


class Entry(NamedTuple):
    """Where a model and its training live, as `module:name`."""

    title: str
    tagger: str
    training: str


ENTRIES = {
    "br": Entry(
        "Binary relevance: one linear classifier a label on TF-IDF features",
        "seq2set.models.br:BinaryRelevance",
        "seq2set.models.br:train_br",
    ),
    "cc": Entry(
        "Classifier chains: linear classifiers on TF-IDF features, each of which sees the labels before it",
        "seq2set.models.cc:ClassifierChains",
        "seq2set.models.cc:train_cc",
    ),
    "lp": Entry(
        "Label powerset: one linear classifier a label combination on TF-IDF features",
        "seq2set.models.lp:LabelPowerset",
        "seq2set.models.lp:train_lp",
    ),
    "cnn": Entry(
        "CNN: convolution of several widths over the words, and one sigmoid a label",
        "seq2set.models.neural:NeuralTagger",
        "seq2set.training.train_network:train_network",
    ),
    "cnn-rnn": Entry(
        "CNN-RNN: convolution over the words starts a recurrent network that gives one label after another",
        "seq2set.models.neural:NeuralTagger",
        "seq2set.training.train_network:train_network",
    ),
    "seq2seq": Entry(
        "Seq2Seq (SGM): an encoder and an attention decoder trained by likelihood on ordered labels",
        "seq2set.models.neural:NeuralTagger",
        "seq2set.training.train_network:train_network",
    ),
    "seq2set": Entry(
        "Seq2Set: an encoder, a sequence decoder, and a set decoder trained by self-critical policy gradient",
        "seq2set.models.neural:NeuralTagger",
        "seq2set.training.train_network:train_network",
    ),
    "seq2set-simp": Entry(
        "Seq2Set, simplified: an encoder and a set decoder trained by self-critical policy gradient",
        "seq2set.models.neural:NeuralTagger",
        "seq2set.training.train_network:train_network",
    ),
}


def find_entry(name: str) -> Entry:
    """Return a model's entry, or say which names there are."""
    if name not in ENTRIES:
        raise UnknownNameError("model", name, ENTRIES)
    return ENTRIES[name]


def tagger_class(name: str) -> type[Tagger]:
    """Return the class that restores a saved model of this name."""
    found: type[Tagger] = _load(find_entry(name).tagger)
    return found


def training_of(name: str) -> Callable[..., Tagger]:
    """Return the function that trains a model of this name."""
    found: Callable[..., Tagger] = _load(find_entry(name).training)
    return found


def _load(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)
