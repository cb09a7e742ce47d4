"""Measure a model on a split, without the documents that it was trained on."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import CorpusError, OutputError
from seq2set.core.files import write_aside
from seq2set.core.outputs import refuse_existing
from seq2set.core.progress import Progress, Silent
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.open_corpus import is_unsplit, open_corpus
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.prepared import Split
from seq2set.corpora.readers import build_read_options
from seq2set.corpora.readers.options import AUTO
from seq2set.corpora.seen_texts import Documents, SeenTexts, Selection, number_texts, select_unseen
from seq2set.evaluation.measure import Keep, evaluate_tagger
from seq2set.evaluation.results import Report
from seq2set.inference.model_folder import read_seen
from seq2set.inference.predictor import Prediction, Predictor, TextItem
from seq2set.labels.intervals import number_groups
from seq2set.models.predictions import Inference, Request
from seq2set.models.tagger import Tagger, count_cut_texts
from seq2set.text.cut_texts import Cut, describe_cut
from seq2set.workflows.evidence import EvidencePlan, measure_evidence, pick_documents
from seq2set.workflows.train import describe_change
from seq2set.workflows.training_corpus import (
    TrainingCorpus,
    describe_reading,
    find_training_corpus,
    is_training_corpus,
    open_training_corpus,
    reopen_corpus,
)

ERROR_COLUMNS = ("id", "text", "true", "given", "scores")
LABEL_SEPARATOR = ";"
"""Between labels, as `train` reads them."""

UNSPLIT = PrepareOptions(split="random", valid=0, test=0)
"""A plain file to measure on is taken whole, unless a split of it is asked for."""


def evaluate(
    model: Path,
    *,
    data: str | None = None,
    columns: Mapping[str, str] | None = None,
    split: str | None = None,
    include_seen: bool | None = None,
    request: Request | None = None,
    progress: Progress | None = None,
    errors: Path | None = None,
    runtime: str = "auto",
    evidence_documents: int | None = None,
) -> Report:
    """Open a model and measure it on a split of a corpus; by default the test split of its own.

    Another plain file is taken whole where no split of it is named; `columns` are settings of `data`, such as
    `text`, that differ from the training's. Documents that the model was trained or tuned on are counted and
    left out, but for those of a test split that came with the model's own corpus, so that figures on a
    published split can be compared; `include_seen` says otherwise. Documents that were given other labels
    than they have are written to the CSV file `errors`. On `evidence_documents` of them the
    reasons for the labels are measured too, and the figures are written onto the model card.
    """
    predictor, measured, chosen = _open_documents(model, runtime, data, columns, split, include_seen)
    for remark in (*measured.remarks, *describe_cut_texts(predictor.tagger, chosen.part)):
        (progress or Silent()).note(remark)
    with write_errors(errors, predictor.tagger.labels.names) if errors else nullcontext() as keep:
        result = evaluate_tagger(predictor.tagger, chosen.part, request, progress, keep)
    all_groups = measured.part.iter_groups()
    groups = None if all_groups is None else number_groups(compress(all_groups, chosen.kept))
    units = number_texts(chosen.digests) if groups is None else groups
    evidence = None
    if evidence_documents is not None:
        where = model, measured.corpus, measured.split, chosen.part, evidence_documents
        evidence = measure_evidence(predictor, EvidencePlan(*where), request, progress)
    config, search = predictor.tagger.config, predictor.tagger.find_search(request or Request())
    return Report(
        config.model,
        measured.corpus,
        measured.split,
        result,
        predictor.metadata,
        RunFolder(model).records(),
        run=str(model),
        overlap=chosen.overlap,
        fingerprint=chosen.fingerprint,
        intervals=result.intervals(units),
        unit="document" if units is None else "text" if groups is None else "group",
        units=result.documents if units is None else len(np.unique(units)),
        evidence=evidence,
        parts=config.name_parts(search),
    )


def _open_documents(
    model: Path,
    runtime: str,
    data: str | None,
    columns: Mapping[str, Any] | None,
    split: str | None,
    include_seen: bool | None,
) -> tuple[Predictor, MeasuredSplit, Selection]:
    predictor = Predictor.open(model, runtime)
    measured = open_measured(find_training_corpus(model, predictor, columns), data, split)
    seen = read_seen(model)
    chosen = select_unseen_part(measured, seen, predictor.metadata, include_seen=include_seen)
    return predictor, measured, chosen


def refuse_errors_file(path: Path, *, force: bool = False) -> None:
    """Refuse a file for errors that is there; `force` replaces such files and no others."""
    refuse_existing(path, force=force)
    if not path.exists():
        return
    head = ",".join(ERROR_COLUMNS).encode()
    with path.open("rb") as stream:
        found = stream.read(len(head))
    if found not in (b"", head):
        raise OutputError(
            f"{path} holds no errors of an evaluation; --force replaces such files only, name another file"
        )


def describe_cut_texts(tagger: Tagger, part: Documents) -> Iterator[str]:
    """Say how many texts are not read to their end."""
    cut = Cut()
    for batch in part.iter_batches(1024):
        cut += count_cut_texts(tagger, [document.text for document in batch])
    yield from describe_cut(cut, len(part))


@contextmanager
def write_errors(path: Path, names: Sequence[str]) -> Iterator[Keep]:
    """Give a function that takes batches; those documents whose labels differ from the given are written.

    `scores` has the score of each label that was given or should have been; one that the model does not know
    has none.
    """
    known = {name: column for column, name in enumerate(names)}
    with write_aside(path) as aside, aside.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(ERROR_COLUMNS)

        def keep(documents: Sequence[Document], answer: Inference) -> None:
            for document, chosen, scores in zip(documents, answer.chosen, answer.scores, strict=True):
                given = [names[column] for column in chosen]
                if set(given) == set(document.labels):
                    continue
                told = [name for name in dict.fromkeys([*given, *document.labels]) if name in known]
                listed = (f"{name}={scores[known[name]]:.4f}" for name in told)
                labels = (LABEL_SEPARATOR.join(one) for one in (document.labels, given, listed))
                rows.writerow((document.id, document.text, *labels))

        yield keep


class SampledPrediction(NamedTuple):
    """A prediction beside the labels that the document really has."""

    prediction: Prediction
    actual: tuple[str, ...]


def sample_predictions(
    model: Path,
    *,
    data: str | None = None,
    columns: Mapping[str, str] | None = None,
    split: str | None = None,
    include_seen: bool | None = None,
    count: int = 3,
    runtime: str = "auto",
    request: Request | None = None,
) -> list[SampledPrediction]:
    """Predict a few of the documents that `evaluate` measures on, drawn with a seed, with their evidence."""
    predictor, _, (part, *_) = _open_documents(model, runtime, data, columns, split, include_seen)
    places = np.random.default_rng(1).choice(len(part), min(count, len(part)), replace=False)
    drawn = pick_documents(part, places.tolist())
    items = [TextItem(document.id, document.text) for document in drawn]
    answers = predictor.stream(items, replace(request or Request(), explain=True, strip_html=False))
    pairs = zip(answers, drawn, strict=True)
    return [SampledPrediction(answer, document.labels) for answer, document in pairs]


class MeasuredSplit(NamedTuple):
    """The documents to measure on, and their names for the report."""

    corpus: str
    split: str
    part: Split
    own: bool
    """Whether they were taken from where the model's training took its documents"""
    fingerprint: str
    """Of the corpus that they were taken from"""
    published: bool
    """Whether the corpus came with its splits, so that figures of others are on the same documents"""
    remarks: tuple[str, ...] = ()
    """What is to be known of that corpus"""


def open_measured(trained: TrainingCorpus, named: str | None, split: str | None) -> MeasuredSplit:
    """Open the documents to measure on: a split of a corpus, by default test, or all of a plain file."""
    own = named is None or is_training_corpus(trained, named)
    others = trained.data if named is None or own else trained.describe_other(named)
    asked = others.split != AUTO or others.valid or others.test
    if named and not own and split is None and not asked and is_unsplit(named):
        whole = open_corpus(named, replace(build_read_options(others), split=None), UNSPLIT)
        return MeasuredSplit(
            whole.name, "all", whole.split("train"), own, whole.fingerprint, False, tuple(whole.remarks)
        )
    corpus = reopen_corpus(trained, named) if own else open_training_corpus(others)
    part = corpus.split(split or "test")
    if not len(part):
        there = ", ".join(name for name in SPLITS if len(corpus.split(name)))
        raise CorpusError(
            f"the split '{part.name}' is empty; there is nothing to measure; pass --split with one of: "
            f"{there}; or --data with other documents",
            corpus.name,
        )
    remarks = (*corpus.remarks, *describe_reading(trained.data, corpus))
    return MeasuredSplit(
        corpus.name, part.name, part, own, corpus.fingerprint, corpus.has_given_splits, remarks
    )


def select_unseen_part(
    measured: MeasuredSplit, seen: SeenTexts, metadata: Mapping[str, Any], *, include_seen: bool | None = None
) -> Selection:
    """Count the documents that a model was trained or tuned on, and leave them out where that is due.

    A test split that came with the corpus is measured whole, as long as the corpus is what it was: others
    measure on the same documents. Where the split was made here, the corpus has changed, or it is another
    one, what the model has seen is left out, but for documents that are asked for as what they are (train,
    valid).
    The cells of experiments keep to the same rule.
    """
    changed = describe_change(metadata, measured.corpus, measured.fingerprint)
    leave_out = {"trained", "tuned"}
    if include_seen is not None:
        leave_out = set() if include_seen else leave_out
    elif (changed is None and measured.published) or (measured.own and measured.split == "train"):
        leave_out = set()
    elif measured.own and measured.split == "valid":
        leave_out = {"trained"}
    chosen = select_unseen(
        measured.part, seen, leave_out, same_corpus=changed is None, changed=changed if measured.own else None
    )
    if not len(chosen.part):
        raise CorpusError(
            f"the model was trained or tuned on all {len(measured.part):,} documents, so none is left to "
            "measure on; pass --include-seen to measure on them all the same",
            measured.corpus,
        )
    return chosen
