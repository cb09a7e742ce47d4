"""A cell: one training and its measurement, done once and never again.

A cell's folder is a run like any other, with two files more: `answers.npz` holds the predictions for each
document, and `cell.json`, written last, the result. A cell made from a published one has these and its
settings, and no model.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seq2set.config import Config, validate
from seq2set.config.provenance import read_provenance, refuse_other_corpus
from seq2set.config.run_folder import RunFolder, recall_defaults
from seq2set.config.run_locks import hold_run
from seq2set.core.files import compute_sha256, read_json, write_json
from seq2set.core.hardware import describe_machine
from seq2set.core.progress import Progress
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.seen_texts import Overlap
from seq2set.evaluation.results import Evaluation
from seq2set.experiments.cells.predictions import Answers, measure_predictions
from seq2set.experiments.cells.warm_start_reuse import reuse_neighbour
from seq2set.inference.model_folder import read_metadata, read_seen
from seq2set.inference.predictor import Predictor
from seq2set.models.predictions import Request
from seq2set.workflows.evaluate import open_measured, select_unseen_part
from seq2set.workflows.train import train
from seq2set.workflows.training_corpus import TrainingCorpus, open_training_corpus
from seq2set.workflows.training_data import load_examples

if TYPE_CHECKING:
    from seq2set.training.fitted_prior import PriorCache  # loads scikit-learn

FACTS, ANSWERS, SPENT = "cell.json", "answers.npz", "spent.json"


@dataclass(frozen=True)
class Cell:
    """One training to be measured."""

    row: str
    """Its model and variant, as one name; the cells of a row differ in their seeds only"""
    config: Config
    folder: Path
    split: str = "test"

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as plain JSON, for a process of its own."""
        settings = self.config.model_dump(mode="json")
        return {"row": self.row, "config": settings, "folder": str(self.folder), "split": self.split}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Cell:
        """Read a cell back."""
        return cls(values["row"], validate(values["config"]), Path(values["folder"]), values["split"])


@dataclass(frozen=True)
class CellResult:
    """The result of a finished cell."""

    row: str
    folder: Path
    facts: dict[str, Any]

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.facts["model"])

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics on the split that was measured."""
        return dict(self.facts["metrics"])

    @property
    def validation(self) -> dict[str, float]:
        """The metrics on validation, which the training tuned on."""
        return dict(self.facts["validation"])

    @property
    def phase(self) -> str:
        """The phase that gave the weights that were kept; empty where that is not known."""
        return str(self.facts.get("kept", {}).get("phase") or "")

    @property
    def seconds(self) -> float:
        """How long the training took."""
        return float(self.facts["seconds"]["training"])

    @cached_property
    def answers(self) -> Answers:
        """The predicted and the true labels of each document."""
        return Answers.load(self.folder / ANSWERS)


def read_result(cell: Cell, corpus: PreparedCorpus | None = None) -> CellResult | None:
    """Return the result of a cell, or None where it is not done or its predictions are damaged.

    A cell of other settings, or of a corpus other than today's, is refused.
    """
    refuse_stale(cell, corpus or open_training_corpus(cell.config.data))
    path = cell.folder / FACTS
    if not path.is_file():
        return None
    RunFolder.start(cell.folder, cell.config, resume=True)
    facts = read_json(path)
    answers = cell.folder / ANSWERS
    whole = answers.is_file() and compute_sha256(answers) == facts["answers"]["sha256"]
    return CellResult(cell.row, cell.folder, facts) if whole and facts["split"] == cell.split else None


def refuse_stale(cell: Cell, corpus: PreparedCorpus) -> None:
    """Refuse a cell that was started, trained or measured on another corpus, its test split included."""

    def check(recorded: str) -> None:
        refuse_other_corpus(cell.folder, recorded, corpus.name, corpus.fingerprint)

    if (begun := read_provenance(cell.folder)) is not None:
        check(begun.fingerprint)
    if RunFolder(cell.folder).model.is_dir():
        check(read_metadata(cell.folder)["corpus"]["fingerprint"])
    if (cell.folder / FACTS).is_file():
        check(read_json(cell.folder / FACTS)["corpus"]["fingerprint"])


def run_cell(cell: Cell, progress: Progress, priors: PriorCache | None = None) -> CellResult:
    """Run a cell, from the start or from where it was stopped; one that is done is only read.

    One that another process works on raises `BusyError`.
    """
    cell = replace(cell, config=recall_defaults(RunFolder(cell.folder).config, cell.config))
    if (done := read_result(cell)) is not None:  # which many may read at a time
        return done
    with hold_run(cell.folder):
        return read_result(cell) or _train_and_measure(cell, progress, priors)


def _train_and_measure(cell: Cell, progress: Progress, priors: PriorCache | None) -> CellResult:
    corpus = open_training_corpus(cell.config.data)
    if reused := reuse_neighbour(RunFolder(cell.folder), cell.config, corpus):
        progress.note(reused.sentence)
        write_json(cell.folder / SPENT, {"seconds": round(reused.seconds, 1)})
    began = time.perf_counter()
    try:
        train(cell.config, cell.folder, resume=True, progress=progress, priors=priors)
    except BaseException:
        if cell.folder.is_dir():  # the next training counts its own time only
            spent = _read_time_spent(cell.folder) + time.perf_counter() - began
            write_json(cell.folder / SPENT, {"seconds": round(spent, 1)})
        raise
    predictor = Predictor.open(cell.folder)
    # The corpus may have changed while the model was trained.
    refuse_stale(cell, open_training_corpus(cell.config.data))
    measured = open_measured(TrainingCorpus(cell.config.data), None, cell.split)
    chosen = select_unseen_part(measured, read_seen(cell.folder), predictor.metadata)
    examples = load_examples(measured.part).pick(np.flatnonzero(chosen.kept))
    result, answers = measure_predictions(predictor.tagger, examples, Request(), progress)
    answers.save(cell.folder / ANSWERS)
    facts = _build_facts(cell, predictor.metadata, result, chosen.overlap)
    write_json(cell.folder / FACTS, facts)
    return CellResult(cell.row, cell.folder, facts)


def _build_facts(
    cell: Cell, metadata: Mapping[str, Any], result: Evaluation, overlap: Overlap
) -> dict[str, Any]:
    trained = metadata["training"]["seconds"] + _read_time_spent(cell.folder)
    return {
        "row": cell.row,
        "model": cell.config.model,
        "seed": cell.config.seed,
        "corpus": metadata["corpus"],
        "split": cell.split,
        "documents": result.documents,
        "seen": {
            "trained_on": overlap.trained_on,
            "used_for_tuning": overlap.tuned_on,
            "left_out": overlap.left_out,
        },
        "labels": result.labels,
        "validation": metadata["validation"],
        "metrics": result.metrics | result.ranking,
        "kept": {name: metadata["training"].get(name) for name in ("phase", "update")},
        "seconds": {"training": round(trained, 1), "prediction": round(result.seconds, 3)},
        "documents_per_second": round(result.documents_per_second, 1),
        "machine": describe_machine(cell.config.threads),
        "answers": {"file": ANSWERS, "sha256": compute_sha256(cell.folder / ANSWERS)},
        "config": cell.config.model_dump(mode="json"),
    }


def _read_time_spent(folder: Path) -> float:
    path = folder / SPENT
    return float(read_json(path)["seconds"]) if path.is_file() else 0.0
