"""What an experiment was asked for, as it is recorded beside its results."""

from __future__ import annotations

from typing import Any

from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.options import Options
from seq2set.training_corpus import corpus_of


def asked_corpus(options: Options) -> PreparedCorpus:
    """Open the corpus that an experiment is asked for."""
    return corpus_of(options.config(options.models[0], 1).data)


def asked(options: Options) -> dict[str, Any]:
    """Return all that was asked for, as plain JSON; files by their names alone."""
    return {
        "corpus": asked_corpus(options).name,
        "preset": options.config(options.models[0], 1).preset,
        "models": list(options.models),
        "seeds": list(options.seeds),
        "settings": list(options.assignments),
        "files": {model: path.name for model, path in options.files.items()},
        "options": dict(options.extra),
    }
