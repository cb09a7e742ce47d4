"""A corpus whose label frequencies and correlations are known, and models that give some labels only.

Of 20 training documents 16 have the label a, 12 b, 8 c, 4 d and 2 e. The labels a, b and c go together
(phi(a, b) = 0.61, phi(a, c) = 0.41, phi(b, c) = 0.67), and so do d and e (phi = 0.67). The ten documents of
the test split hold a 6 times, b and c 4 times, d 3 times and e twice: 19 occurrences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fake_cells import finish_cell
from small_experiments import SETTINGS

from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.experiments.cells.cell import Cell, CellResult, read_result
from seq2set.experiments.cells.predictions import Answers, Sets
from seq2set.experiments.options import Options
from seq2set.labels.labels import Labels
from seq2set.workflows.training_corpus import open_training_corpus

TEST = ("ab", "ab", "ac", "ac", "ad", "bc", "be", "a", "cd", "de")

Given = Callable[[Cell, tuple[str, ...]], Sequence[str]]
"""What a cell's model gives to a document with these true labels."""


def ranked_corpus(folder: Path) -> PreparedCorpus:
    train = ["".join(label for label, has in _has(place) if has) for place in range(20)]
    parts = {"train": train, "valid": ["ab", "cd"], "test": TEST}
    documents = [
        Document(f"{split}{place}", f"words of {' '.join(labels)} number {place}", tuple(labels), split)
        for split, rows in parts.items()
        for place, labels in enumerate(rows)
    ]
    plan = SplitPlan("given", valid=0, test=0)
    return prepare(documents, folder, name="ranked", source="made for tests", licence="none", plan=plan)


def _has(place: int) -> list[tuple[str, bool]]:
    many = {"a": place < 16, "b": 4 <= place < 16, "c": 8 <= place < 16}
    return list((many | {"d": place >= 16, "e": place >= 18}).items())


def ranked_options(tmp_path: Path, models: tuple[str, ...], **more: object) -> Options:
    corpus = ranked_corpus(tmp_path / "ranked")
    given = {"seeds": (1,), "assignments": SETTINGS, **more}
    return Options(str(corpus.folder), tmp_path / "out", models, **given)  # type: ignore[arg-type]


def give(cells: Iterable[Cell], given: Given) -> list[CellResult]:
    """Finish cells whose models give what `given` says, and return their results."""
    results = []
    for cell in cells:
        corpus = open_training_corpus(cell.config.data)
        part = corpus.split(cell.split)
        labels = Labels.build([*corpus.split("train").labels()])
        places = {name: place for place, name in enumerate(labels.names)}
        chosen = [[places[label] for label in given(cell, tuple(one))] for one in part.labels()]
        actual = [sorted(places[label] for label in one) for one in part.labels()]
        answers = Answers(
            labels.names, labels.frequencies, tuple(part.ids()), Sets.of(chosen), Sets.of(actual)
        )
        finish_cell(cell, answers)
        result = read_result(cell)
        assert result is not None
        results.append(result)
    return results


KNOWN = {"br": "abc", "seq2seq": "ab", "seq2set-simp": "abcde", "seq2set": "abcde"}
"""The labels that each model knows how to give: those that are true, among these."""


def by_knowledge(cell: Cell, labels: tuple[str, ...]) -> list[str]:
    """Give the true labels that the model knows; the second seed of seq2set has never heard of e."""
    known = set(KNOWN[cell.config.model]) - ({"e"} if cell.config.seed == 2 else set())
    return [label for label in labels if label in known]
