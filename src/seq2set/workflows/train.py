"""The main jobs, each one call: train, evaluate, and the pieces that they share."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.config import Config
from seq2set.config.provenance import Provenance, read_provenance
from seq2set.config.run_folder import RunFolder, Watch, find_kept_weights
from seq2set.core.errors import InputError, WorkError
from seq2set.core.hardware import get_rank
from seq2set.core.progress import Progress, Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.seen_texts import SeenTexts
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.model_card import model_card
from seq2set.inference.model_folder import read_metadata, save_model
from seq2set.models.tagger import Examples, Tagger, fingerprint_of, fit_function
from seq2set.training.history import tracked
from seq2set.workflows.examples import training_examples
from seq2set.workflows.open_data import corpus_of

JOINING_SECONDS = 60
"""How long the other processes of a distributed run wait for the first to begin it."""


def train(
    config: Config,
    out: Path,
    *,
    resume: bool = False,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> RunFolder:
    """Train a model as the settings say and leave it in the run folder `out`.

    `watch` is told of every look at validation, and may end the training by raising.
    """
    progress = progress or Silent()
    corpus = corpus_of(config.data)
    learn, tune = training_examples(corpus, progress)
    run = _run_folder(out, config, provenance_of(corpus, learn, tune), resume, watch)
    if run.model.is_dir():
        _refuse_other_corpus(run, corpus)
        progress.note(f"{out} is finished already")
        return run
    if read_provenance(out) is None:
        progress.note(
            f"{out} was begun by an earlier version, which did not record its documents: that {corpus.name} "
            "is still the same is checked by the number of its words and labels only"
        )
    began = time.perf_counter()
    tagger = fit_function(config.model)(config, learn, tune, run, progress)
    if get_rank() > 0:
        return run
    seconds = time.perf_counter() - began
    origin = Origin(corpus.name, corpus.facts["source"], corpus.facts["licence"], corpus.fingerprint)
    metadata = training_facts(tagger, origin, learn, tune, seconds, run.records(), progress)
    card = model_card(config, metadata, tagger.state().fitted)
    seen = SeenTexts.of(learn.texts, tune.texts)
    save_model(tagger, run.model, card=card, metadata=metadata, seen=seen)
    return run


def _run_folder(
    out: Path, config: Config, provenance: Provenance, resume: bool, watch: Watch | None
) -> RunFolder:
    """Let the first process begin the run, and the others join it on the same documents."""
    if get_rank() == 0:
        watch = tracked(config, out, watch)
        return RunFolder.start(out, config, provenance=provenance, resume=resume, watch=watch)
    for _ in range(JOINING_SECONDS * 10):
        if (run := RunFolder(out)).config.is_file():
            run.check_documents(provenance)
            return run
        time.sleep(0.1)
    raise WorkError(f"process {get_rank()} waited {JOINING_SECONDS} s in vain for the run {out} to begin")


def provenance_of(corpus: PreparedCorpus, learn: Examples, tune: Examples) -> Provenance:
    """Say which documents of a corpus a training stands on."""
    labels = {label for labels in learn.label_sets for label in labels}
    documents = fingerprint_of(learn, tune)
    return Provenance(
        corpus.name,
        corpus.fingerprint,
        documents,
        len(learn),
        len(tune),
        len(labels),
        *(corpus.location or ()),
    )


def training_provenance(corpus: PreparedCorpus) -> Provenance:
    """Say which documents of a corpus a training would stand on."""
    return provenance_of(corpus, *training_examples(corpus, Silent()))


def _refuse_other_corpus(run: RunFolder, corpus: PreparedCorpus) -> None:
    """Refuse to take a finished run that recorded nothing when it began for one on another corpus."""
    trained_on = read_metadata(run.path).get("corpus", {}).get("fingerprint", corpus.fingerprint)
    if read_provenance(run.path) is None and trained_on != corpus.fingerprint:
        raise InputError(
            f"{run.path} is finished, but on another corpus than {corpus.name} is now (fingerprint "
            f"{trained_on}, now {corpus.fingerprint}); put the corpus back as it was, or name another --out"
        )


def changed_since(metadata: Mapping[str, Any], name: str, fingerprint: str) -> str | None:
    """Return a sentence where a corpus is not what it was when a model was trained on it."""
    then = metadata.get("corpus", {}).get("fingerprint")
    if then == fingerprint:
        return None
    return (
        f"{name} is not what it was when the model was trained (its fingerprint was {then} and is "
        f"{fingerprint}): its texts, labels or splits are other ones"
    )


class Origin(NamedTuple):
    """Where the documents of a training come from."""

    name: str
    source: str
    licence: str
    fingerprint: str


def training_facts(
    tagger: Tagger,
    origin: Origin,
    learn: Examples,
    tune: Examples,
    seconds: float,
    history: Sequence[Mapping[str, Any]],
    progress: Progress,
) -> dict[str, Any]:
    """Measure a trained model on what it was tuned on, and gather what its folder says of its training."""
    result, config = evaluate_tagger(tagger, tune, progress=progress), tagger.config
    return {
        "corpus": origin._asdict()
        | {
            "train": len(learn),
            "valid": len(tune),
            "labels": len(tagger.labels),
            "labels_per_document": sum(tagger.labels.frequencies) / len(learn),
        },
        "validation": result.metrics,
        "per_label": [label._asdict() for label in result.per_label],
        "training": {"seed": config.seed, "preset": config.preset, "seconds": round(seconds, 1)}
        | find_kept_weights(history),
    }
