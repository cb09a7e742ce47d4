"""Train a model: on a corpus into a run folder, or on texts in memory; both record the same."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from seq2set.config import Config
from seq2set.config.catalog import find_model
from seq2set.config.provenance import Provenance
from seq2set.config.run_folder import TEACHER, RunFolder, Watch, find_kept_weights
from seq2set.config.run_locks import check_lock, hold_run
from seq2set.core.errors import InputError, WorkError
from seq2set.core.hardware import get_rank
from seq2set.core.progress import Progress, Silent
from seq2set.corpora.carve import SHARE
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.seen_texts import NOTHING_KNOWN, SeenTexts
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.model_card import render_model_card
from seq2set.inference.model_folder import save_model
from seq2set.models.tagger import Tagger, compute_fingerprint, get_fit_function
from seq2set.training.history import add_tensorboard
from seq2set.workflows.calibration import calibrate_trained
from seq2set.workflows.cross_validation import cross_validate, recall_folds
from seq2set.workflows.starting_model import StartingModel, find_start
from seq2set.workflows.training_corpus import (
    adopt_reading,
    describe_reading,
    follow_corpus,
    open_training_corpus,
)
from seq2set.workflows.training_data import TrainingData, carve_validation, load_training_data, pool_documents

if TYPE_CHECKING:
    from seq2set.training.fitted_prior import PriorCache  # loads scikit-learn

JOIN_TIMEOUT = 60
"""Seconds that the other processes of a distributed run wait for the first to start it."""


class Origin(NamedTuple):
    """Where the documents of a training come from."""

    name: str
    source: str
    licence: str
    fingerprint: str

    @classmethod
    def of(cls, corpus: PreparedCorpus) -> Origin:
        """Return what the records of a training say of its corpus."""
        return cls(corpus.name, corpus.facts["source"], corpus.facts["licence"], corpus.fingerprint)


class TrainedModel(NamedTuple):
    """A model with what its training recorded."""

    tagger: Tagger
    metadata: dict[str, Any]
    """Plain JSON: the corpus, validation metrics, each label's figures, seed, seconds"""
    history: list[dict[str, Any]]
    seen: SeenTexts

    def save(self, folder: Path, *, force: bool = False) -> None:
        """Write the model folder."""
        state = self.tagger.state()
        card = render_model_card(state.config, self.metadata, state.fitted)
        save_model(self.tagger, folder, card=card, metadata=self.metadata, seen=self.seen, force=force)


def train(
    config: Config,
    out: Path,
    *,
    resume: bool = False,
    force: bool = False,
    folds: int | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    priors: PriorCache | None = None,
    begin_from: Path | None = None,
) -> RunFolder:
    """Train a model as the settings say and leave it in the run folder `out`.

    `force` replaces a run. The weights of a network begin with those of the model to `begin_from`. With
    `folds` the model is cross-validated first, and learns from all documents; see `cross_validate`. `watch`
    is told of every look at validation, and may end the training by raising. Trainings that share `priors`
    fit an equal linear prior once.
    """
    progress = progress or Silent()
    config, place = follow_corpus(config, out, resume=resume, force=force)
    if resume and (out / TEACHER).is_file():
        raise InputError(f"{out} is taught by a teacher; seq2set distill goes on with it, see its --resume")
    folds = recall_folds(out, folds) if resume else folds
    if begin_from is not None and folds is not None:
        raise InputError(
            "--from and --folds are both given, but the model has learnt what a fold would hold out; give "
            "one of the two"
        )
    copied = find_start(begin_from, out, resume=resume)
    start = None if copied is None else StartingModel.open(copied)
    with progress.stage("open the corpus"):  # a large file is read for minutes
        corpus = open_training_corpus(place)
    for sentence in describe_reading(config.data, corpus):
        progress.note(sentence)
    if folds is None:
        pooled, data = None, load_training_data(corpus, progress)
    else:
        pooled = pool_documents(corpus, folds)
        data = carve_validation(pooled, SHARE, corpus.seed)
    if start is not None:
        data = start.leave_out_learnt(data, progress)
    origin = Origin.of(corpus)
    with hold_run(out) if get_rank() == 0 else nullcontext():  # the first process holds it for all
        run = _open_run(out, config, record_provenance(corpus, data), resume, force, watch, copied)
        if run.model.is_dir():
            progress.note(f"nothing to do: {out} is finished already; pass --force to train it again")
            return run
        measured = None
        if folds is not None and pooled is not None:
            measured = cross_validate(config, pooled, run, folds, corpus.seed, progress)
        trained = fit_model(adopt_reading(config, corpus), data, origin, run, progress, priors, start)
        if measured is not None:
            trained.metadata["cross_validation"] = measured
        if get_rank() == 0:
            check_lock(out)
            trained.save(run.model)
    return run


def train_in_memory(
    config: Config, data: TrainingData, progress: Progress | None = None, start: StartingModel | None = None
) -> TrainedModel:
    """Train a model on texts given in Python; its run folder is temporary."""
    progress = progress or Silent()
    if start is not None:
        data = start.leave_out_learnt(data, progress)
    origin = Origin("texts given in Python", "not stated", "not stated", compute_fingerprint(*data))
    with tempfile.TemporaryDirectory(prefix="seq2set-") as folder:
        run = RunFolder.start(Path(folder) / "run", config)
        return fit_model(config, data, origin, run, progress, start=start)


def fit_model(
    config: Config,
    data: TrainingData,
    origin: Origin,
    run: RunFolder,
    progress: Progress,
    priors: PriorCache | None = None,
    start: StartingModel | None = None,
    held_out: bool = True,
) -> TrainedModel:
    """Train a model in a run folder; calibrate and measure it on the examples that it was tuned on.

    `held_out` says whether it learns from none of these; where they are the very same, that is known.
    """
    began = time.perf_counter()
    fit = get_fit_function(config.model)
    if priors is not None and find_model(config.model).family == "set":
        fit = partial(fit, priors=priors)
    if start is not None:
        if find_model(config.model).family == "linear":
            raise InputError(f"the model is '{config.model}'; only networks can begin from another model")
        fit = partial(fit, start=start.network)
    tagger = fit(config, *data, run, progress)
    if get_rank() > 0:  # the first process of a distributed run records for all
        return TrainedModel(tagger, {}, [], NOTHING_KNOWN)
    unlearnt = data.tune if held_out and data.is_carved else None
    tagger, calibrated = calibrate_trained(tagger, unlearnt, origin.name, progress)
    seconds = time.perf_counter() - began
    result, history = evaluate_tagger(tagger, data.tune, progress=progress), run.records()
    documents = {
        "train": data.learn.count_labelled(),  # a teacher may have taught further ones
        "valid": len(data.tune),
        "labels": len(tagger.labels),
        "labels_per_document": sum(tagger.labels.frequencies) / data.learn.count_labelled(),
    }
    training = {"seed": config.seed, "preset": config.preset, "seconds": round(seconds, 1)}
    seen = SeenTexts.of(data.learn.texts, data.tune.texts)
    if start is not None:
        training["began from"] = start.network.name
        seen = seen.join(start.seen)
    metadata = {
        "corpus": origin._asdict() | documents,
        "validation": result.metrics,
        "per_label": [label._asdict() for label in result.per_label],
        "calibrated": calibrated,
        "training": training | find_kept_weights(history),
    }
    return TrainedModel(tagger, metadata, history, seen)


def _open_run(
    out: Path,
    config: Config,
    provenance: Provenance,
    resume: bool,
    force: bool,
    watch: Watch | None,
    begin_from: Path | None,
) -> RunFolder:
    """Let the first process start or resume the run, and the others join it on the same documents."""
    if get_rank() == 0:
        watch = add_tensorboard(config, out, watch)
        return RunFolder.start(
            out, config, provenance=provenance, resume=resume, force=force, watch=watch, begin_from=begin_from
        )
    for _ in range(JOIN_TIMEOUT * 10):
        if (run := RunFolder(out)).config.is_file():
            run.check_documents(provenance)
            return run
        time.sleep(0.1)
    raise WorkError(f"process {get_rank()} timed out after {JOIN_TIMEOUT} s waiting for run {out} to start")


def record_provenance(corpus: PreparedCorpus, data: TrainingData | None = None) -> Provenance:
    """Return the record of the documents that a training on a corpus learns from and tunes on."""
    data = data or load_training_data(corpus, Silent())
    labels = {label for labels in data.learn.label_sets for label in labels}
    sizes = len(data.learn), len(data.tune), len(labels)
    place = corpus.location or ()
    return Provenance(corpus.name, corpus.fingerprint, compute_fingerprint(*data), *sizes, *place)


def describe_change(metadata: Mapping[str, Any], name: str, fingerprint: str) -> str | None:
    """Return a sentence where a corpus is not what it was when a model was trained on it."""
    then = metadata.get("corpus", {}).get("fingerprint")
    if then == fingerprint:
        return None
    return (
        f"{name} is not what it was when the model was trained (its fingerprint was {then} and is "
        f"{fingerprint}): its texts, labels or splits have changed"
    )
