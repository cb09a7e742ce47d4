"""A teacher at work: a trained model that says of texts which labels they have, and how sure it is.

What a model says of documents that it learnt from is too sure, and a student would learn that. So training
documents are taught by models of the teacher's own settings, each trained without a part of them. Texts
without labels are taught by the teacher itself, which has not seen them. Either's scores are calibrated on
documents with known labels: a decoder's, above all, are surer than they are right.

Shapes: N documents, K sets per document, L labels of the student.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from seq2set.config import Config
from seq2set.config.catalog import SCORING
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError
from seq2set.core.files import compute_sha256, write_aside
from seq2set.core.progress import Progress
from seq2set.core.seals import UNSEALED, check_seal, seal_file
from seq2set.inference.model_folder import MANIFEST, find_model_folder
from seq2set.inference.predictor import Predictor
from seq2set.labels.calibration import Sigmoid, fit_sigmoid
from seq2set.labels.lessons import Reals
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request
from seq2set.models.prior import FOLD_SEED, fold_documents
from seq2set.models.tagger import Examples, Tagger, get_fit_function

SETS = 4
"""How many sets a student learns of each document, another in each epoch."""

BATCH = 256
"""Texts that are scored at a time."""

SURE = 1e-4
"""No score is nearer to 0 or 1 than this when it is calibrated."""


class Opinion(NamedTuple):
    """What a teacher says of documents, in the order of a student's labels."""

    scores: Reals
    """(N, L) each in [0, 1]; 0 for labels that the teacher does not know"""
    drawn: npt.NDArray[np.bool_]
    """(N, K, L) sets that it drew; empty ones of a teacher without a decoder"""
    known: npt.NDArray[np.bool_]
    """(N,) whether it knows a word of each"""

    @classmethod
    def none(cls, documents: int, labels: int) -> Opinion:
        """Say nothing of documents."""
        drawn = np.zeros((documents, SETS, labels), bool)
        return cls(np.zeros((documents, labels), np.float32), drawn, np.zeros(documents, bool))

    def append(self, *others: Opinion) -> Opinion:
        """Return what it says of these and of further documents."""
        return Opinion._make(map(np.concatenate, zip(self, *others, strict=True)))

    def pick(self, index: npt.NDArray[np.intp]) -> Opinion:
        """Return what it says of the documents at the given places."""
        return Opinion(self.scores[index], self.drawn[index], self.known[index])

    def calibrate(self, sigmoid: Sigmoid) -> Opinion:
        """Return the same with calibrated scores; a label that scores 0 is one that cannot be given."""
        return self._replace(scores=np.where(self.scores > 0, sigmoid(_to_logits(self.scores)), 0))


@dataclass(frozen=True)
class Teacher:
    """A trained model, and the labels that it is to speak of."""

    path: Path
    sha256: str
    """Of its manifest, which holds the SHA-256 of every other file"""
    tagger: Tagger
    names: tuple[str, ...]

    @classmethod
    def open(cls, path: Path, names: Sequence[str], corpus: str) -> Teacher:
        """Open a run or a model folder to teach these labels."""
        tagger = Predictor.open(path).tagger
        if not set(names) & set(tagger.labels.names):
            raise InputError(
                f"{path} has no label in common with {corpus}; it knows {len(tagger.labels):,} labels, such "
                f"as '{tagger.labels.names[0]}'"
            )
        return cls(path, compute_sha256(find_model_folder(path) / MANIFEST), tagger, tuple(names))

    def judge(self, texts: Sequence[str], path: Path, progress: Progress) -> Opinion:
        """Say what it thinks of texts that it has not seen, and keep that in a file."""
        mark = self._mark(texts)
        if not path.is_file():
            _save(path, _judge(self.tagger, texts, self.names, progress, "the teacher's scores"), mark)
        return _load(path, mark)

    def judge_own(
        self, config: Config, learn: Examples, tune: Examples, folds: int, run: RunFolder, progress: Progress
    ) -> Opinion:
        """Say what models of its settings think of training documents, each of those that it has not seen.

        What one of them says is kept in the run folder, so that a stopped run trains it once.
        """
        fold = fold_documents(folds, len(learn), FOLD_SEED, learn.groups)
        parts = [np.flatnonzero(fold == number) for number in range(int(fold.max()) + 1)]
        said = []
        for number, held in enumerate(parts, start=1):
            path, texts = run.teacher / f"fold-{number}.safetensors", learn.pick(held).texts
            if not path.is_file():
                progress.note(f"the teacher without fold {number} of {len(parts)}")
                rest = np.flatnonzero(fold != number - 1)
                tagger = self._train_again(config, learn.pick(rest), tune, path.with_suffix(""), progress)
                told = _judge(tagger, texts, self.names, progress, "scores of the fold")
                _save(path, told, self._mark(texts))
                shutil.rmtree(path.with_suffix(""))
            said.append(_load(path, self._mark(texts)))
        return said[0].append(*said[1:]).pick(np.argsort(np.concatenate(parts), kind="stable"))

    def _mark(self, texts: Iterable[str]) -> npt.NDArray[np.uint8]:
        """Return a digest of what is judged by whom, by which a file of another judgement is noticed."""
        digest = hashlib.sha256(json.dumps([self.sha256, self.names]).encode())
        for text in texts:
            digest.update(json.dumps(text).encode())
        return np.frombuffer(digest.digest(), np.uint8)

    def _train_again(
        self, config: Config, rest: Examples, tune: Examples, folder: Path, progress: Progress
    ) -> Tagger:
        """Train a model of the teacher's settings on fewer documents, as this machine is to be used."""
        own = self.tagger.config
        training = own.training.model_copy(update={"device": config.training.device})
        here = {"threads": config.threads, "workers": config.workers, "training": training}
        same = own.model_copy(update=here)
        run = RunFolder.start(folder, same, resume=True)
        return get_fit_function(same.model)(same, rest, tune, run, progress)


def fit_confidence(said: Opinion, gold: npt.NDArray[np.bool_]) -> Sigmoid:
    """Return what makes probabilities of scores (N, L): a temperature and an offset, for known labels."""
    known = said.scores.any(axis=0)
    return fit_sigmoid(_to_logits(said.scores[:, known]), gold[:, known])


def _to_logits(scores: Reals) -> Reals:
    likely = np.clip(scores.astype(np.float64), SURE, 1 - SURE)
    return np.asarray(np.log(likely / (1 - likely)), np.float32)


def _judge(
    tagger: Tagger, texts: Sequence[str], names: Sequence[str], progress: Progress, title: str
) -> Opinion:
    columns = [tagger.labels.index(name) for name in names]
    known = np.array([place for place, column in enumerate(columns) if column is not None], np.intp)
    found = [column for column in columns if column is not None]
    scores, drawn, heard = said = Opinion.none(len(texts), len(names))
    with progress.stage(title, len(texts)) as advance:
        for start in range(0, len(texts), BATCH):
            block = list(texts[start : start + BATCH])
            for row, (likely, sets, is_known) in enumerate(_ask(tagger, block), start=start):
                scores[row, known] = likely[found]
                drawn[row, :, known] = sets[:, found].T
                heard[row] = is_known
            advance(len(block))
    return said


class TeacherAnswer(NamedTuple):
    """What a model says of one text, in the order of its own labels."""

    scores: Reals
    """(L,)"""
    drawn: npt.NDArray[np.bool_]
    """(K, L)"""
    known: bool


def _ask(tagger: Tagger, texts: list[str]) -> Iterator[TeacherAnswer]:
    if not (isinstance(tagger, NeuralTagger) and tagger.decodes):
        told = tagger.infer(texts, Request(search=SCORING))
        known = np.ones(len(texts), bool) if told.known is None else told.known
        for row, heard in zip(told.scores, known.tolist(), strict=True):
            yield TeacherAnswer(row, np.zeros((SETS, len(row)), bool), heard)
        return
    # All texts use the same random numbers: from the sets with the same one, each takes others.
    generator = np.random.default_rng(len(texts))
    for row, sets, heard in zip(*tagger.draw_sets(texts), strict=True):
        chosen = generator.choice(len(sets), SETS, replace=len(sets) < SETS)
        yield TeacherAnswer(row, sets[chosen], bool(heard))


def _save(path: Path, said: Opinion, mark: npt.NDArray[np.uint8]) -> None:
    arrays: dict[str, npt.NDArray[Any]] = {"scores": said.scores, "known": said.known, "mark": mark}
    arrays["drawn"] = np.packbits(said.drawn, axis=-1)
    with write_aside(path) as aside:
        save_file(arrays, aside, metadata=UNSEALED)
        seal_file(aside)


def _load(path: Path, mark: npt.NDArray[np.uint8]) -> Opinion:
    try:
        check_seal(path)
        arrays = load_file(path)
        if not np.array_equal(arrays["mark"], mark):
            raise ValueError("it is about other texts, or of another teacher")
        labels = arrays["scores"].shape[1]
        drawn = np.unpackbits(arrays["drawn"], axis=-1, count=labels).astype(bool)
        return Opinion(arrays["scores"], drawn, arrays["known"])
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path} is damaged ({reason}); delete it, and --resume computes it again"
        ) from error
