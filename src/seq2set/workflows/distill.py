"""Distil a model: a large one teaches a small one, which answers at its own speed.

The student learns from training documents and, where there are any, from texts without labels. Its weights,
its decision rule and its calibration are chosen on the validation split by true labels, as in every training;
nothing looks at the test split but a check that none of its texts is among those without labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seq2set.config import Config
from seq2set.config.catalog import MODELS, find_model
from seq2set.config.run_folder import RunFolder, Watch
from seq2set.config.run_locks import check_lock, hold_run
from seq2set.core.errors import CorpusError, InputError
from seq2set.core.progress import Progress, Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.readers import ReadOptions, build_read_options, read_column_names
from seq2set.corpora.readers.cells.columns import has_column, split_names
from seq2set.corpora.seen_texts import EMPTY, NOTHING_KNOWN, hash_texts
from seq2set.inference.given_texts import strip_texts
from seq2set.inference.model_folder import find_model_folder, read_seen
from seq2set.labels.labels import Labels
from seq2set.labels.lessons import Lessons, make_lessons
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples
from seq2set.workflows.prediction_input import InputFile, find_inputs, read_blocks
from seq2set.workflows.teacher import Opinion, Teacher, fit_confidence
from seq2set.workflows.teaching_record import Teaching, TeachingRecord, hash_parts, refuse_other_teaching
from seq2set.workflows.train import Origin, fit_model, record_provenance
from seq2set.workflows.training_corpus import adopt_reading, follow_corpus, open_training_corpus
from seq2set.workflows.training_data import TrainingData, load_training_data


class _Texts(NamedTuple):
    """Texts without labels."""

    texts: list[str]
    left_out: int
    """How many are not taken: they are empty, there twice, or of the corpus"""
    labelled: str | None = None
    """A file of them that has a column of labels, which is not read"""


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
    _refuse_place_of_teacher(teacher, out)
    config, place = follow_corpus(config, out, resume=resume, force=force)
    with progress.stage("open the corpus"):
        corpus = open_training_corpus(place)
    data = load_training_data(corpus, progress)
    _refuse_few_documents(data.learn, teaching.folds)
    opened = Teacher.open(teacher, Labels.build(data.learn.label_sets).names, corpus.name)
    student = adopt_reading(config, corpus)
    read = replace(build_read_options(place), strip_html=student.data.strip_html)
    further = _read_unlabelled(teaching.unlabelled, read, corpus)
    record = TeachingRecord.of(opened, teaching, further.texts)
    if resume:
        refuse_other_teaching(out, record)
    # With the teacher's, so that a plain training never passes for this one.
    begun = record_provenance(corpus, data)
    begun = replace(begun, documents=hash_parts(begun.documents, record.sha256, record.taught))
    with hold_run(out):
        run = RunFolder.start(
            out,
            config,
            provenance=begun,
            resume=resume,
            force=force,
            watch=watch,
            teacher=record.model_dump(),
        )
        if run.model.is_dir():
            progress.note(f"nothing to do: {out} is finished already; pass --force to train it again")
            return run
        for remark in _list_remarks(opened, data, further):
            progress.note(remark)
        learn = _teach(opened, teaching, data, further.texts, student, run, progress)
        taught = TrainingData(learn, data.tune)
        trained = fit_model(student, taught, Origin.of(corpus), run, progress, held_out=data.is_carved)
        trained.metadata["teacher"] = record.describe(len(learn) - len(data.learn))
        if further.texts:
            # By these texts it says what it learnt from its own documents: they are not unseen either.
            learnt = NOTHING_KNOWN._replace(trained=read_seen(teacher).trained)
            trained = trained._replace(seen=trained.seen.join(learnt))
        check_lock(out)
        trained.save(run.model)
    return run


def _refuse_student(config: Config) -> None:
    """Refuse a model that cannot learn how likely labels are."""
    if not find_model(config.model).learns_lessons:
        able = ", ".join(name for name, row in MODELS.items() if row.learns_lessons)
        raise InputError(f"model is '{config.model}'; a student must be one of {able}")


def _refuse_place_of_teacher(teacher: Path, out: Path) -> None:
    """Refuse to write where the teacher lies, which --force would remove."""
    if find_model_folder(teacher).resolve().is_relative_to(out.resolve()):
        raise InputError(f"the teacher {teacher} lies in --out {out} itself; name another --out")


def _refuse_few_documents(learn: Examples, folds: int) -> None:
    """Refuse more folds than there are documents, or groups of them, to make folds of."""
    groups = 0 if learn.groups is None else len(set(learn.groups))
    units, what = (groups, "groups") if groups > 1 else (len(learn), "documents")
    if folds > units:
        raise InputError(
            f"folds is {folds}; it must be 0, or from 2 to {units:,}, the training {what} that there are"
        )


def _read_unlabelled(names: Sequence[str], labelled: ReadOptions, corpus: PreparedCorpus) -> _Texts:
    """Read texts, each once, without those of the corpus: the test split, above all, must stay unseen."""
    options = replace(
        labelled, labels=None, label_columns="", group=None, split=None, separator=None, tally=None
    )
    files = find_inputs(names)
    has_labels = _find_labelled_file(files, options, labelled.labels)
    known = hash_texts(text for name in ("train", "valid", "test") for text in corpus.split(name).texts())
    seen, kept, count = {EMPTY, *known.tolist()}, [], 0
    for _, block in read_blocks(files, options):
        texts = [document.text for document in block]
        count += len(texts)
        for text, digest in zip(texts, hash_texts(texts).tolist(), strict=True):
            if digest not in seen:
                seen.add(digest)
                kept.append(text)
    if names and not kept:
        raise InputError(
            f"{', '.join(names)}: no text is left; all {count:,} are empty or in {corpus.name} already"
        )
    return _Texts(kept, count - len(kept), has_labels)


def _find_labelled_file(files: Sequence[InputFile], options: ReadOptions, labels: str | None) -> str | None:
    """Return the first file with a column of labels; refuse one whose texts stand in another column."""
    found = None
    for file in files:
        present = [] if file.remote is not None else read_column_names(Path(file.name), options)
        named = split_names(options.text, present)
        if present and not any(has_column(present, name) for name in named):
            raise CorpusError(
                f"there is no column '{options.text}'; texts of --data and of --unlabelled must stand in "
                f"columns of one name (--text); the columns are: {', '.join(present[:10])}",
                file.name,
            )
        if found is None and labels and has_column(present, labels):
            found = file.name
    return found


def _list_remarks(teacher: Teacher, data: TrainingData, further: _Texts) -> Iterator[str]:
    if further.left_out:
        yield (
            f"{further.left_out:,} texts without labels are left out: they are empty, there twice, or of the "
            f"corpus itself; {len(further.texts):,} are left"
        )
    if further.labelled:
        yield (
            f"the labels in {further.labelled} are not read: its texts are taught by the teacher alone; "
            "documents whose labels are right belong to --data"
        )
    known = set(teacher.tagger.labels.names)
    if missing := [name for name in teacher.names if name not in known]:
        yield (
            f"the teacher does not know {len(missing):,} of {len(teacher.names):,} labels, such as "
            f"'{missing[0]}'; they are learnt from training documents alone"
        )
    trained = read_seen(teacher.path).trained
    if trained is None and further.texts:
        yield (
            f"the folder of the teacher {teacher.path} holds no hashes of the texts that it was trained on: "
            "where some of them are measured on, figures are too good"
        )
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
        # It reads texts as it learnt to, unless the student's corpus was read so already.
        request = Request(strip_html=False if config.data.strip_html else None)
        read = partial(strip_texts, teacher.tagger, request=request)
        known = teacher.judge(read(tune.texts), run.teacher / "valid.safetensors", progress)
        sigmoid = fit_confidence(known, labels.indicator(tune.label_sets).toarray())
        more = teacher.judge(read(further), run.teacher / "unlabelled.safetensors", progress)
        further = _leave_out_unknown(further, more, progress)
        said = said.append(more.pick(np.flatnonzero(more.known)).calibrate(sigmoid))
    generator = np.random.default_rng(config.seed)
    lessons = make_lessons(teacher.names, said.scores, said.drawn, gold, share, generator)
    return _append_texts(learn, further, lessons)


def _leave_out_unknown(further: list[str], said: Opinion, progress: Progress) -> list[str]:
    """Leave out texts in which the teacher knows no word: what it says of them rests on nothing."""
    unknown = len(further) - int(said.known.sum())
    if unknown == len(further):
        raise InputError(
            f"the teacher knows no word of any of the {unknown:,} texts without labels; is it of another "
            "language or field?"
        )
    if unknown:
        progress.note(
            f"{unknown:,} texts without labels are left out: the teacher knows no word of them; "
            f"{len(further) - unknown:,} are taught"
        )
    return [text for text, known in zip(further, said.known, strict=True) if known]


def _append_texts(learn: Examples, further: list[str], lessons: Lessons) -> Examples:
    """Put texts without labels behind training documents; where there are groups, each is one of its own."""
    ids = [f"unlabelled-{number}" for number in range(1, len(further) + 1)]
    groups = None if learn.groups is None else [*learn.groups, *ids]
    sets = [*learn.label_sets, *(() for _ in further)]
    return Examples([*learn.texts, *further], sets, [*learn.ids, *ids], learn.depths, groups, lessons=lessons)
