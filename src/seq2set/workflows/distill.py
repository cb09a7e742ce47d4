"""Distil a model: a large one teaches a small one, which answers at its own speed.

The student learns from training documents and, where there are any, from texts without labels. Its weights,
its decision rule and its calibration are chosen on the validation split by true labels, as in every training;
nothing looks at the test split but a check that none of its texts is among those without labels.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2set.config import Config
from seq2set.config.catalog import MODELS, find_model
from seq2set.config.run_folder import TEACHER, RunFolder, Watch
from seq2set.config.run_locks import check_lock, hold_run
from seq2set.core.errors import InputError
from seq2set.core.files import read_json, write_json
from seq2set.core.progress import Progress, Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.readers import ReadOptions, build_read_options
from seq2set.corpora.seen_texts import EMPTY, hash_texts
from seq2set.inference.model_folder import read_seen
from seq2set.labels.labels import Labels
from seq2set.labels.lessons import Lessons, make_lessons
from seq2set.models.tagger import Examples
from seq2set.workflows.prediction_input import find_inputs, read_blocks
from seq2set.workflows.teacher import Opinion, Teacher, fit_confidence
from seq2set.workflows.train import Origin, fit_model, record_provenance
from seq2set.workflows.training_corpus import follow_corpus, open_training_corpus
from seq2set.workflows.training_data import TrainingData, load_training_data

FORMAT = 1
"""The version of the record's layout."""


@dataclass(frozen=True)
class Teaching:
    """How a student is taught."""

    unlabelled: tuple[str, ...] = ()
    """Files, patterns, folders or addresses of texts without labels"""
    folds: int = 4
    """How many models of the teacher's settings are trained to judge training documents; 0: none is, and
    these are taught by their labels alone"""
    share: float = 0.5
    """How much a teacher's word weighs beside the labels of training documents"""

    def __post_init__(self) -> None:
        if self.folds < 0 or self.folds == 1:
            raise InputError(f"folds is {self.folds}; it must be 0 or at least 2")
        if not 0 < self.share <= 1:
            raise InputError(f"share is {self.share}; it must lie above 0 and not above 1")
        if not self.folds and not self.unlabelled:
            raise InputError("folds is 0 and there are no texts without labels: nothing would be taught")


class _Texts(NamedTuple):
    """Texts without labels."""

    texts: list[str]
    left_out: int
    """How many are not taken: they are empty, there twice, or of the corpus"""


def distill(
    config: Config,
    teacher: Path,
    out: Path,
    teaching: Teaching,
    *,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> RunFolder:
    """Train a student as the settings say, taught by the model at `teacher`, in the run folder `out`."""
    progress = progress or Silent()
    _refuse_student(config)
    config, place = follow_corpus(config, out, resume=resume, force=force)
    with progress.stage("open the corpus"):
        corpus = open_training_corpus(place)
    data = load_training_data(corpus, progress)
    opened = Teacher.open(teacher, Labels.build(data.learn.label_sets).names, corpus.name)
    further = _read_unlabelled(teaching.unlabelled, build_read_options(place), corpus)
    record = _describe(opened, teaching, further)
    if resume:
        _refuse_other_teacher(out, record)
    # With the teacher's, so that a plain training never passes for this one.
    begun = record_provenance(corpus, data)
    begun = replace(begun, documents=_hash(begun.documents, record["sha256"], record["taught"]))
    with hold_run(out):
        run = RunFolder.start(out, config, provenance=begun, resume=resume, force=force, watch=watch)
        if run.model.is_dir():
            progress.note(f"nothing to do: {out} is finished already; pass --force to train it again")
            return run
        write_json(out / TEACHER, record)
        for remark in _list_remarks(opened, data, further):
            progress.note(remark)
        learn = _teach(opened, teaching, data, further.texts, config, run, progress)
        taught = TrainingData(learn, data.tune)
        trained = fit_model(config, taught, Origin.of(corpus), run, progress, held_out=data.is_carved)
        trained.metadata["teacher"] = record
        check_lock(out)
        trained.save(run.model)
    return run


def _refuse_student(config: Config) -> None:
    """Refuse a model that cannot learn how likely labels are."""
    if not find_model(config.model).learns_lessons:
        able = ", ".join(name for name, row in MODELS.items() if row.learns_lessons)
        raise InputError(f"model is '{config.model}'; a student must be one of {able}")


def _read_unlabelled(names: Sequence[str], labelled: ReadOptions, corpus: PreparedCorpus) -> _Texts:
    """Read texts, each once, without those of the corpus: the test split, above all, must stay unseen."""
    options = replace(
        labelled, labels=None, label_columns="", group=None, split=None, separator=None, tally=None
    )
    texts = [
        document.text for _, block in read_blocks(find_inputs(names), options) for document in block
    ]  # fmt: skip
    known = hash_texts(text for name in ("train", "valid", "test") for text in corpus.split(name).texts())
    seen = {EMPTY, *known.tolist()}
    kept = []
    for text, digest in zip(texts, hash_texts(texts).tolist(), strict=True):
        if digest not in seen:
            seen.add(digest)
            kept.append(text)
    if names and not kept:
        raise InputError(
            f"{', '.join(names)}: no text is left; all {len(texts):,} are empty or in {corpus.name} already"
        )
    return _Texts(kept, len(texts) - len(kept))


def _describe(teacher: Teacher, teaching: Teaching, further: _Texts) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "model": teacher.tagger.config.model,
        "path": str(teacher.path),
        "sha256": teacher.sha256,
        "folds": teaching.folds,
        "share": teaching.share,
        "unlabelled": list(teaching.unlabelled),
        "texts": len(further.texts),
        "taught": _hash(teaching.folds, teaching.share, *further.texts),
    }


def _hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def read_teaching(out: Path) -> dict[str, Any]:
    """Return how the student of a run that goes on is taught; nothing where no run has begun."""
    if not (path := out / TEACHER).is_file():
        return {}
    try:
        found = read_json(path)
        return {"unlabelled": tuple(found["unlabelled"]), "folds": found["folds"], "share": found["share"]}
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged; name another --out") from error


def _refuse_other_teacher(out: Path, now: dict[str, Any]) -> None:
    """Refuse to go on with a run that is taught by another teacher, in another way, or by none."""
    path = out / TEACHER
    if not path.is_file():
        if RunFolder(out).has_learnt():
            raise InputError(f"{out} holds a training without a teacher; name another --out")
        return
    begun = read_json(path)
    for name in ("sha256", "folds", "share", "texts", "taught"):
        if begun[name] != now[name]:
            what = {"sha256": "SHA-256 of the teacher", "taught": "fingerprint of the texts without labels"}
            raise InputError(
                f"{out} was begun with another teacher or other texts: {what.get(name, name)}: "
                f"{begun[name]} -> {now[name]}; resume with the same, or name another --out"
            )


def _list_remarks(teacher: Teacher, data: TrainingData, further: _Texts) -> Iterator[str]:
    if further.left_out:
        yield (
            f"{further.left_out:,} texts without labels are left out: they are empty, there twice, or of the "
            f"corpus itself; {len(further.texts):,} are taught"
        )
    known = set(teacher.tagger.labels.names)
    if missing := [name for name in teacher.names if name not in known]:
        yield (
            f"the teacher does not know {len(missing):,} of {len(teacher.names):,} labels, such as "
            f"'{missing[0]}'; they are learnt from training documents alone"
        )
    trained = read_seen(teacher.path).trained
    if trained is not None and (seen := int(np.isin(hash_texts(data.tune.texts), trained).sum())):
        yield (
            f"the teacher was trained on {seen:,} of the {len(data.tune):,} validation documents: its scores "
            "of texts without labels are calibrated on these, and are too sure"
        )


def _teach(
    teacher: Teacher,
    teaching: Teaching,
    data: TrainingData,
    further: list[str],
    config: Config,
    run: RunFolder,
    progress: Progress,
) -> Examples:
    """Return training documents and texts without labels, with what the teacher says of them."""
    labels = Labels(teacher.names, [0] * len(teacher.names))
    learn, tune = data
    gold = labels.indicator(learn.label_sets).toarray()
    said, share = Opinion.none(len(learn), len(labels)), 0.0
    if teaching.folds:
        said, share = teacher.judge_own(config, learn, tune, teaching.folds, run, progress), teaching.share
        said = said.calibrate(fit_confidence(said, gold))
    if further:
        known = teacher.judge(tune.texts, run.teacher / "valid.safetensors", progress)
        sigmoid = fit_confidence(known, labels.indicator(tune.label_sets).toarray())
        more = teacher.judge(further, run.teacher / "unlabelled.safetensors", progress).calibrate(sigmoid)
        said = said.append(more)
    generator = np.random.default_rng(config.seed)
    lessons = make_lessons(teacher.names, said.scores, said.drawn, gold, share, generator)
    return _append_texts(learn, further, lessons)


def _append_texts(learn: Examples, further: list[str], lessons: Lessons) -> Examples:
    """Put texts without labels behind training documents; where there are groups, each is one of its own."""
    ids = [f"unlabelled-{number}" for number in range(1, len(further) + 1)]
    groups = None if learn.groups is None else [*learn.groups, *ids]
    sets = [*learn.label_sets, *(() for _ in further)]
    return Examples([*learn.texts, *further], sets, [*learn.ids, *ids], learn.depths, groups, lessons=lessons)
