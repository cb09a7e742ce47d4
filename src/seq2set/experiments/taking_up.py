"""Published cells in the place of trainings: those that fit are taken up as finished, the others named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seq2set.config import write_toml
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells import ANSWERS, FACTS, Cell, CellResult, finished, working_on
from seq2set.experiments.published_cells import PublishedCell, read_cells
from seq2set.files import folder_written_aside, sha256_of, write_json
from seq2set.runs import RunFolder
from seq2set.training_corpus import corpus_of


class Shelf:
    """The published cells of a folder, and what becomes of them in an experiment."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.cells = read_cells(folder)
        self.chosen: dict[str, PublishedCell] = {}
        """The published cells that are taken up, by the names that they have in the experiment"""
        self._refused: dict[str, list[str]] = {}

    def choose(self, cell: Cell, corpus: PreparedCorpus) -> CellResult | None:
        """Return what came out of a cell where it is published; nothing is written yet."""
        against = {one: list(one.reasons_against(cell, corpus.fingerprint)) for one in self.cells}
        fitting = [one for one, reasons in against.items() if not reasons]
        if not fitting:
            namesakes = [reasons for one, reasons in against.items() if one.name == cell.name]
            for reason in min(namesakes, key=len, default=[])[:1]:
                self._refuse(reason, cell)
        elif cell.folder.is_dir() and any(cell.folder.iterdir()):
            self._refuse(f"{cell.folder.parent} has begun with it", cell)
        else:
            chosen = next((one for one in fitting if one.name == cell.name), fitting[0])
            self.chosen[cell.name] = chosen
            return CellResult(cell.row, cell.folder, _facts(cell, chosen))
        return None

    def _refuse(self, reason: str, cell: Cell) -> None:
        self._refused.setdefault(reason, []).append(cell.name)

    def notes(self) -> Iterable[str]:
        """Say how many cells are taken up, and why others that are published are not."""
        if self.chosen:
            yield f"{len(self.chosen)} of the cells are taken from {self.folder}"
        for reason, names in self._refused.items():
            yield f"not taken from {self.folder} but trained here: {', '.join(names)}; {reason}"

    def take_up(self, cell: Cell) -> CellResult:
        """Make a finished cell of the published one that was chosen for it, without a model."""
        with working_on(cell):
            return finished(cell) or _written(cell, self.chosen[cell.name])


def _written(cell: Cell, published: PublishedCell) -> CellResult:
    part = corpus_of(cell.config.data).split(cell.split)
    answers = published.answers(part.ids(), part.labels(), part.groups())
    with folder_written_aside(cell.folder) as aside:
        answers.save(aside / ANSWERS)
        write_toml(cell.config, RunFolder(aside).config)
        stored = {"file": ANSWERS, "sha256": sha256_of(aside / ANSWERS)}
        facts = _facts(cell, published) | {"answers": stored}
        write_json(aside / FACTS, facts)
    return CellResult(cell.row, cell.folder, facts)


def _facts(cell: Cell, published: PublishedCell) -> dict[str, Any]:
    return published.facts | {"row": cell.row, "config": cell.config.model_dump(mode="json")}
