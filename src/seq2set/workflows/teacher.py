"""A teacher at work: a trained model that says of texts which labels they have, and how sure it is.

What a model says of documents that it learnt from is too sure, and a student would learn that. So training
documents are taught by models of the teacher's own settings, each trained without a part of them. Texts
without labels are taught by the teacher itself, which has not seen them. Either's scores are calibrated on
documents with known labels: a decoder's, above all, are surer than they are right.

Shapes: N documents, K sets per document, L labels of the student.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from seq2set.config import Config
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
from seq2set.models.prior import fold_documents
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

    @classmethod
    def none(cls, documents: int, labels: int) -> Opinion:
        """Say nothing of documents."""
        return cls(np.zeros((documents, labels), np.float32), np.zeros((documents, SETS, labels), bool))

    def append(self, *others: Opinion) -> Opinion:
        """Return what it says of these and of further documents."""
        parts = (self, *others)
        return Opinion(
            np.concatenate([one.scores for one in parts]), np.concatenate([one.drawn for one in parts])
        )

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
        if not path.is_file():
            _save(path, _judge(self.tagger, texts, self.names, progress, "the teacher's scores"))
        return _load(path)

    def judge_own(
        self, config: Config, learn: Examples, tune: Examples, folds: int, run: RunFolder, progress: Progress
    ) -> Opinion:
        """Say what models of its settings think of training documents, each of those that it has not seen.

        What one of them says is kept in the run folder, so that a stopped run trains it once.
        """
        fold = fold_documents(folds, len(learn), config.seed, learn.groups)
        parts = [np.flatnonzero(fold == number) for number in range(int(fold.max()) + 1)]
        said = []
        for number, held in enumerate(parts, start=1):
            path = run.teacher / f"fold-{number}.safetensors"
            if not path.is_file():
                progress.note(f"the teacher without fold {number} of {len(parts)}")
                rest = np.flatnonzero(fold != number - 1)
                tagger = self._train_again(config, learn.pick(rest), tune, path.with_suffix(""), progress)
                texts = learn.pick(held).texts
                _save(path, _judge(tagger, texts, self.names, progress, "scores of the fold"))
                shutil.rmtree(path.with_suffix(""))
            said.append(_load(path))
        order = np.argsort(np.concatenate(parts), kind="stable")
        together = said[0].append(*said[1:])
        return Opinion(together.scores[order], together.drawn[order])

    def _train_again(
        self, config: Config, rest: Examples, tune: Examples, folder: Path, progress: Progress
    ) -> Tagger:
        """Train a model of the teacher's settings on fewer documents, as this machine is to be used."""
        same = self.tagger.config.model_copy(update={"threads": config.threads, "workers": config.workers})
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
    scores, drawn = said = Opinion.none(len(texts), len(names))
    with progress.stage(title, len(texts)) as advance:
        for start in range(0, len(texts), BATCH):
            block = list(texts[start : start + BATCH])
            for row, part in enumerate(_ask(tagger, block), start=start):
                scores[row, known] = part.scores[found]
                drawn[row, :, known] = part.drawn[:, found].T
            advance(len(block))
    return said


def _ask(tagger: Tagger, texts: list[str]) -> Iterator[Opinion]:
    """Yield what a model says of each text, in the order of its own labels."""
    if not (isinstance(tagger, NeuralTagger) and tagger.decodes):
        scores = tagger.infer(texts, Request(search="marginal")).scores
        for row in scores:
            yield Opinion(row, np.zeros((SETS, len(row)), bool))
        return
    found = tagger.draw_sets(texts)
    # All texts use the same random numbers: from the sets with the same one, each takes others.
    generator = np.random.default_rng(len(texts))
    for row, sets in zip(*found, strict=True):
        yield Opinion(row, sets[generator.choice(len(sets), SETS, replace=len(sets) < SETS)])


def _save(path: Path, said: Opinion) -> None:
    arrays: dict[str, npt.NDArray[Any]] = {"scores": said.scores}
    arrays["drawn"] = np.packbits(said.drawn, axis=-1)
    with write_aside(path) as aside:
        save_file(arrays, aside, metadata=UNSEALED)
        seal_file(aside)


def _load(path: Path) -> Opinion:
    try:
        check_seal(path)
        arrays = load_file(path)
        labels = arrays["scores"].shape[1]
        return Opinion(arrays["scores"], np.unpackbits(arrays["drawn"], axis=-1, count=labels).astype(bool))
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path} is damaged ({reason}); delete it, and --resume computes it again"
        ) from error
