"""One training without files of its own: a part is set aside for tuning, the run folder is temporary."""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import StoppedError
from seq2set.core.progress import Progress
from seq2set.corpora.carve import SEED, carve_documents
from seq2set.corpora.seen_texts import SeenTexts
from seq2set.estimator.inputs import EstimatorInputError
from seq2set.models.tagger import Examples, Tagger, fingerprint_of, fit_function
from seq2set.workflows.train import Origin, training_facts


class Trained(NamedTuple):
    """A model, what is worth knowing about it, and what happened on the way."""

    tagger: Tagger
    metadata: dict[str, Any]
    history: list[dict[str, Any]]
    seen: SeenTexts


class Carved(NamedTuple):
    """What to learn from, and what was set aside for tuning."""

    learn: Examples
    tune: Examples


def trained(config: Config, examples: Examples, validation_fraction: float, progress: Progress) -> Trained:
    """Train a model in a temporary folder and measure it on what was set aside."""
    parts = carved(examples, validation_fraction)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="seq2set-") as folder:
        run = RunFolder.start(Path(folder) / "run", config)
        try:
            tagger = fit_function(config.model)(config, parts.learn, parts.tune, run, progress)
        except StoppedError as stopped:
            # Here nothing can be resumed, and a search over settings must not go on with the next fit.
            raise KeyboardInterrupt from stopped
        history = run.records()
    seconds = time.perf_counter() - began
    origin = Origin("texts given in Python", "not stated", "not stated", fingerprint_of(*parts))
    metadata = training_facts(tagger, origin, *parts, seconds, history, progress)
    seen = SeenTexts.of(parts.learn.texts, parts.tune.texts)
    return Trained(tagger, metadata, history, seen)


def carved(examples: Examples, share: float) -> Carved:
    """Set a share aside, as a training from a file does; every label stays among those to learn from."""
    if not 0 < share < 1:
        raise EstimatorInputError(f"validation_fraction is {share}; it must lie between 0 and 1")
    aside = carve_documents(examples.label_sets, share, SEED)
    tune = examples.pick(np.flatnonzero(aside))
    if any(tune.label_sets):
        return Carved(examples.pick(np.flatnonzero(~aside)), tune)
    warnings.warn(
        f"none of the {len(examples)} texts could be set aside for tuning without losing a label, so the "
        "model is tuned on the texts that it learns from; give more texts a label",
        stacklevel=4,  # the line that calls fit
    )
    return Carved(examples, examples)
