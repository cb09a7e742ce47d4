"""A training that begins from a saved model: which one, with which settings, and what it has seen already.

A document that the model learnt from says nothing about the new one. So such documents are not tuned on, and
the new model remembers the texts of both trainings, which `evaluate` then leaves out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError
from seq2set.core.progress import Progress
from seq2set.corpora.seen_texts import SeenTexts, find_seen, hash_texts
from seq2set.inference.model_folder import (
    MANIFEST,
    find_model_folder,
    load_model,
    read_metadata,
    read_seen,
    read_settings,
)
from seq2set.models.neural import NeuralTagger
from seq2set.models.tagger import Tagger
from seq2set.workflows.training_corpus import UNSAID
from seq2set.workflows.training_data import TrainingData

if TYPE_CHECKING:
    from seq2set.training.starting_network import StartingNetwork


class StartingModel(NamedTuple):
    """A model that another training begins from."""

    network: StartingNetwork
    seen: SeenTexts

    @classmethod
    def of(cls, tagger: Tagger, corpus: str, seen: SeenTexts) -> StartingModel:
        """Take a trained model, which must be a network."""
        name = f"{tagger.config.model} on {corpus}"
        if not isinstance(tagger, NeuralTagger):
            raise InputError(
                f"{name} is a linear model, which a training cannot begin from: it finds the best weights "
                "from anywhere; train it again on the documents of both, such as --data old.csv,new.csv"
            )
        from seq2set.training.starting_network import StartingNetwork  # torch: measuring comes by here too

        return cls(StartingNetwork(tagger, name), seen)

    @classmethod
    def open(cls, folder: Path) -> StartingModel:
        """Open a run or a model folder."""
        tagger = load_model(folder, "torch")
        return cls.of(tagger, str(read_metadata(folder)["corpus"]["name"]), read_seen(folder))

    def leave_out_learnt(self, data: TrainingData, progress: Progress) -> TrainingData:
        """Leave the documents that the model learnt from out of those to tune on."""
        if self.seen.trained is None:
            progress.note(
                f"the folder of {self.network.name} holds no hashes of the texts that it was trained on: "
                "where some of them are tuned or measured on, figures are too good"
            )
        learnt = find_seen(hash_texts(data.tune.texts), self.seen.trained)
        if not data.is_carved or not learnt.any():
            return data
        if learnt.all():
            raise InputError(
                f"{self.network.name} was trained on all {len(learnt):,} documents to tune on; give "
                "others, such as --valid FILE"
            )
        progress.note(
            f"{learnt.sum():,} of {len(learnt):,} documents to tune on are left out: {self.network.name} "
            "learnt from them"
        )
        return TrainingData(data.learn, data.tune.pick(np.flatnonzero(~learnt)))


def find_start(named: Path | None, out: Path, *, resume: bool) -> Path | None:
    """Return the model folder that a run begins from: the one that is named, or a resumed run's own copy."""
    run = RunFolder(out)
    given = None if named is None else find_model_folder(named)
    goes_on = resume and run.config.is_file()
    if given is not None and given.resolve() == run.model.resolve():
        raise InputError(f"--from and --out both name {out}; name another --out")
    if given is not None and not goes_on and given.resolve().is_relative_to(out.resolve()):
        raise InputError(f"--from {named} lies in --out {out} itself; name another --out")
    if not goes_on:
        return given
    copy = run.start_model if run.start_model.is_dir() else None
    if given is not None and (
        copy is None or (given / MANIFEST).read_bytes() != (copy / MANIFEST).read_bytes()
    ):
        raise InputError(f"{out} was not begun from {named}; leave --from out, or name another --out")
    return copy


def read_start_config(named: Path) -> Config:
    """Return the settings of a model for a training on another corpus: its columns, but not its splits."""
    config = read_settings(named)
    return config.model_copy(update={"data": config.data.model_copy(update={"corpus": "", **UNSAID})})
