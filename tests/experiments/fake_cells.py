"""Cells that look finished, without any training: some documents right, the rest wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from seq2set.config.run_folder import RunFolder
from seq2set.core.files import compute_sha256, write_json
from seq2set.core.hardware import describe_machine
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells.cell import ANSWERS, FACTS, Cell
from seq2set.experiments.cells.predictions import Answers, Sets
from seq2set.labels.labels import Labels
from seq2set.workflows.training_corpus import open_training_corpus

Skill = Callable[[Cell], float]


def fake_cells(cells: Iterable[Cell], skill: Skill, **corpus_facts: object) -> None:
    """Finish cells; `skill` says which share of the documents, the first ones, a cell gets right."""
    for cell in cells:
        fake_cell(cell, skill(cell), **corpus_facts)


def fake_cell(cell: Cell, skill: float, **corpus_facts: object) -> None:
    """Finish a cell; documents that it gets wrong are given nothing."""
    finish_cell(cell, _answers(open_training_corpus(cell.config.data), cell.split, skill), **corpus_facts)


def finish_cell(cell: Cell, answers: Answers, **corpus_facts: object) -> None:
    """Finish a cell with these answers."""
    corpus = open_training_corpus(cell.config.data)
    RunFolder.start(cell.folder, cell.config)
    answers.save(cell.folder / ANSWERS)
    metrics = answers.metrics()
    train = corpus.split("train").labels()
    facts = {
        "row": cell.row,
        "model": cell.config.model,
        "seed": cell.config.seed,
        "corpus": {
            "name": corpus.name,
            "fingerprint": corpus.fingerprint,
            "train": len(train),
            "valid": len(corpus.split("valid")),
            "labels_per_document": sum(map(len, train)) / len(train),
            **corpus_facts,
        },
        "split": cell.split,
        "documents": len(answers.ids),
        "labels": len(answers.names),
        "validation": metrics,
        "metrics": metrics,
        "seconds": {"training": 60.0, "prediction": 1.0},
        "documents_per_second": 100.0,
        "machine": describe_machine(1),
        "answers": {"file": ANSWERS, "sha256": compute_sha256(cell.folder / ANSWERS)},
        "config": cell.config.model_dump(mode="json"),
    }
    write_json(cell.folder / FACTS, facts)


def _answers(corpus: PreparedCorpus, split: str, skill: float) -> Answers:
    labels = Labels.build(corpus.split("train").labels())
    places = {name: place for place, name in enumerate(labels.names)}
    part = corpus.split(split)
    actual = [sorted(places[label] for label in one) for one in part.labels()]
    right = round(skill * len(actual))
    chosen = actual[:right] + [[] for _ in actual[right:]]
    groups = part.groups()
    return Answers(
        labels.names,
        tuple(labels.frequencies),
        tuple(part.ids()),
        Sets.of(chosen),
        Sets.of(actual),
        None if groups is None else tuple(groups),
    )
