"""The main jobs, each one call: train, evaluate, and the pieces that they share."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2set.bundle import read_about, read_seen, save_model
from seq2set.cards import model_card
from seq2set.config import Config
from seq2set.corpora.carving import SHARE, carve_documents
from seq2set.corpora.label_tree import LabelTree
from seq2set.corpora.opening import open_corpus
from seq2set.corpora.prepared import PreparedCorpus, Split
from seq2set.corpora.separators import overlooked_sign, shown_sign
from seq2set.corpora.splits import SplitPlan
from seq2set.errors import CorpusError, InputError, WorkError
from seq2set.evaluation import Report, evaluate_tagger
from seq2set.hardware import process_rank
from seq2set.models.registry import training_of
from seq2set.predictions import Request
from seq2set.predictor import Prediction, Predictor, TextItem
from seq2set.progress import Progress, Silent
from seq2set.provenance import Provenance, read_provenance
from seq2set.runs import RunFolder, Watch, kept_weights
from seq2set.seen_texts import Documents, SeenTexts, Selected, select_unseen
from seq2set.tagger import Examples, Tagger, fingerprint_of
from seq2set.training.tracking import tracked
from seq2set.training_corpus import TrainedOn, corpus_of, is_own, open_own, read_options, trained_on

UNSPLIT = SplitPlan("random", valid=0, test=0)
"""A plain file to measure on is taken whole, unless a split of it is asked for."""

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
    tagger = training_of(config.model)(config, learn, tune, run, progress)
    if process_rank() > 0:
        return run
    seconds = time.perf_counter() - began
    origin = Origin(corpus.name, corpus.facts["source"], corpus.facts["licence"], corpus.fingerprint)
    about = training_facts(tagger, origin, learn, tune, seconds, run.records(), progress)
    card = model_card(config, about, tagger.parts().facts)
    seen = SeenTexts.of(learn.texts, tune.texts)
    save_model(tagger, run.model, card=card, about=about, seen=seen)
    return run


def _run_folder(
    out: Path, config: Config, provenance: Provenance, resume: bool, watch: Watch | None
) -> RunFolder:
    """Let the first process begin the run, and the others join it on the same documents."""
    if process_rank() == 0:
        watch = tracked(config, out, watch)
        return RunFolder.start(out, config, provenance=provenance, resume=resume, watch=watch)
    for _ in range(JOINING_SECONDS * 10):
        if (run := RunFolder(out)).config.is_file():
            run.check_documents(provenance)
            return run
        time.sleep(0.1)
    raise WorkError(f"process {process_rank()} waited {JOINING_SECONDS} s in vain for the run {out} to begin")


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
    trained_on = read_about(run.path).get("corpus", {}).get("fingerprint", corpus.fingerprint)
    if read_provenance(run.path) is None and trained_on != corpus.fingerprint:
        raise InputError(
            f"{run.path} is finished, but on another corpus than {corpus.name} is now (fingerprint "
            f"{trained_on}, now {corpus.fingerprint}); put the corpus back as it was, or name another --out"
        )


def evaluate(
    model: Path,
    *,
    data: str | None = None,
    split: str | None = None,
    include_seen: bool | None = None,
    request: Request | None = None,
    progress: Progress | None = None,
) -> Report:
    """Open a model and measure it on a split of a corpus; by default the test split of its own.

    Another plain file is taken whole where no split of it is named. Documents that the model was trained or
    tuned on are counted. By default a split of the model's own corpus keeps them, so that figures on a
    published split can be compared, and other documents do not; `include_seen` says otherwise.
    """
    predictor = Predictor.open(model)
    measured = measurable(trained_on(model, predictor), data, split)
    chosen = unseen_part(measured, read_seen(model), predictor.about, include_seen=include_seen)
    for remark in (*measured.remarks, *_cut_texts(predictor.tagger, chosen.part)):
        (progress or Silent()).note(remark)
    result = evaluate_tagger(predictor.tagger, chosen.part, request, progress)
    return Report(
        predictor.tagger.parts().config.model,
        measured.corpus,
        measured.split,
        result,
        predictor.about,
        RunFolder(model).records(),
        run=str(model),
        overlap=chosen.overlap,
        fingerprint=chosen.fingerprint,
    )


def _cut_texts(tagger: Tagger, part: Documents) -> Iterator[str]:
    """Say how many texts a network does not read to their end; a linear model reads them all."""
    count = getattr(tagger, "count_cut", None)
    if count is None:
        return
    from seq2set.models.neural import cut_sentence  # loads torch, which linear models do without

    cut = sum(count([document.text for document in batch]) for batch in part.iter_batches(1024))
    if cut:
        yield cut_sentence(cut, len(part), tagger.parts().config.encoder.max_words)


class Shown(NamedTuple):
    """A prediction beside the labels that the document really has."""

    prediction: Prediction
    actual: tuple[str, ...]


def sample_predictions(
    model: Path,
    *,
    data: str | None = None,
    split: str | None = None,
    include_seen: bool | None = None,
    count: int = 3,
    seed: int = 1,
) -> list[Shown]:
    """Predict a few of the documents that `evaluate` measures on, drawn with a seed, with their evidence."""
    predictor = Predictor.open(model)
    measured = measurable(trained_on(model, predictor), data, split)
    part = unseen_part(measured, read_seen(model), predictor.about, include_seen=include_seen).part
    places = set(np.random.default_rng(seed).choice(len(part), min(count, len(part)), replace=False).tolist())
    everything = (document for batch in part.iter_batches(1024) for document in batch)
    drawn = [document for place, document in enumerate(everything) if place in places]
    items = [TextItem(document.id, document.text) for document in drawn]
    answers = predictor.stream(items, Request(explain=True))
    return [Shown(answer, document.labels) for answer, document in zip(answers, drawn, strict=True)]


class Measured(NamedTuple):
    """The documents to measure on, and their names for the report."""

    corpus: str
    split: str
    part: Split
    own: bool
    """Whether they were taken from where the model's training took its documents"""
    fingerprint: str
    """Of the corpus that they were taken from"""
    remarks: tuple[str, ...] = ()
    """What is to be known of that corpus"""


def measurable(trained: TrainedOn, named: str | None, split: str | None) -> Measured:
    """Open what is to be measured: a split of a corpus, by default test, or all of another plain file."""
    own = named is None or is_own(trained, named)
    # Another corpus need not have the columns of groups and splits that the training's had.
    others = trained.data.model_copy(update={"corpus": named, "group": "", "split": "auto"})
    if named and not own and split is None and Path(named).is_file():
        whole = open_corpus(named, replace(read_options(others), split=None), UNSPLIT, max_words=None)
        return Measured(whole.name, "all", whole.split("train"), own, whole.fingerprint, tuple(whole.remarks))
    corpus = open_own(trained, named) if own else corpus_of(others)
    part = corpus.split(split or "test")
    if not len(part):
        raise CorpusError(f"the split '{part.name}' is empty; there is nothing to measure", corpus.folder)
    return Measured(corpus.name, part.name, part, own, corpus.fingerprint, tuple(corpus.remarks))


def unseen_part(
    measured: Measured, seen: SeenTexts, about: Mapping[str, Any], *, include_seen: bool | None = None
) -> Selected:
    """Count the documents that a model was trained or tuned on, and leave them out where that is due.

    The splits of the model's own corpus keep their documents as long as it is what it was: a test split is
    measured whole, as the cells of experiments measure it. Where it has changed, or is another corpus, what
    the model has seen is left out, but for documents that are asked for as what they are (train, valid).
    """
    changed = changed_since(about, measured.corpus, measured.fingerprint)
    leave_out = {"trained", "tuned"}
    if include_seen is not None:
        leave_out = set() if include_seen else leave_out
    elif changed is None or (measured.own and measured.split == "train"):
        leave_out = set()
    elif measured.own and measured.split == "valid":
        leave_out = {"trained"}
    chosen = select_unseen(
        measured.part,
        seen,
        leave_out,
        same_corpus=changed is None,
        changed=changed if measured.own else None,
    )
    if not len(chosen.part):
        raise CorpusError(
            f"the model was trained or tuned on all {len(measured.part):,} documents, so none is left to "
            "measure on; pass --include-seen to measure on them all the same",
            measured.corpus,
        )
    return chosen


def changed_since(about: Mapping[str, Any], name: str, fingerprint: str) -> str | None:
    """Return a sentence where a corpus is not what it was when a model was trained on it."""
    then = about.get("corpus", {}).get("fingerprint")
    if then == fingerprint:
        return None
    return (
        f"{name} is not what it was when the model was trained (its fingerprint was {then} and is "
        f"{fingerprint}): its texts, labels or splits are other ones"
    )


def training_examples(corpus: PreparedCorpus, progress: Progress) -> tuple[Examples, Examples]:
    """Return what to learn from and what to tune on; where there is no validation, some is carved."""
    depths = label_depths(corpus)
    learn, tune = examples(corpus.split("train"), depths), examples(corpus.split("valid"), depths)
    if not len(learn):
        raise CorpusError("the training split is empty; there is nothing to learn from", corpus.folder)
    for remark in corpus.remarks:
        progress.note(remark)
    if (sign := overlooked_sign(learn.label_sets)) is not None:
        progress.note(
            f"no document has two labels, and some look like several joined by {shown_sign(sign)}; if so, "
            f"split them with --set data.separator={shown_sign(sign)}"
        )
    if len(tune):
        return learn, tune
    aside = carve_documents(learn.label_sets, SHARE, corpus.seed, learn.groups)
    if not aside.any():
        progress.note(
            f"{corpus.name} has no validation split, and no training document can be set aside without "
            "losing a label, so the model is tuned on the documents that it learns from; give more of them a "
            "label"
        )
        return learn, learn
    progress.note(
        f"{corpus.name} has no validation split: {aside.sum()} training documents are set aside for tuning"
    )
    return learn.pick(np.flatnonzero(~aside)), learn.pick(np.flatnonzero(aside))


def examples(split: Split, depths: Mapping[str, int] | None = None) -> Examples:
    """Load a whole split into memory."""
    return Examples(split.texts(), split.labels(), split.ids(), depths, split.groups())


def label_depths(corpus: PreparedCorpus) -> dict[str, int]:
    """Return how deep each label stands in the corpus's tree of labels; nothing where it has none."""
    tree = LabelTree(corpus.facts.get("notes", {}).get("tree") or {})
    return {label: tree.depth(label) for label in tree.parents}


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
    result, config = evaluate_tagger(tagger, tune, progress=progress), tagger.parts().config
    return {
        "corpus": origin._asdict()
        | {
            "train": len(learn),
            "valid": len(tune),
            "labels": len(tagger.labels),
            "labels_a_document": sum(tagger.labels.frequencies) / len(learn),
        },
        "validation": result.metrics,
        "per_label": [label._asdict() for label in result.per_label],
        "training": {"seed": config.seed, "preset": config.preset, "seconds": round(seconds, 1)}
        | kept_weights(history),
    }
