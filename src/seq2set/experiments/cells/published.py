"""A finished cell as `results/` keeps it: no weights and no texts, and all that tables and tests are made of.

`results/<corpus>-<preset>/cells/<cell>.json` holds what came out, every setting, and the labels of each
measured document, given (in the model's order) and true, by their places. Ids and texts stay in the corpus.
An experiment takes such a cell up as finished where the corpus and the settings are the very same.

Published cells in the place of trainings: those that fit are taken up as finished, the others named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seq2set.config import Config, list_changes, validate, write_toml
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.files import compute_sha256, update_keys, write_folder_aside, write_json, write_text
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells.cell import ANSWERS, FACTS, Cell, CellResult, finished, working_on
from seq2set.experiments.cells.predictions import Answers, Sets
from seq2set.workflows.training_corpus import open_training_corpus

FORMAT = 1
"""The version of the file's layout."""


@dataclass(frozen=True, eq=False)
class PublishedCell:
    """What a published file holds."""

    path: Path
    values: Mapping[str, Any]
    config: Config | None
    """Its settings; None where this version has no such settings any more"""

    @property
    def name(self) -> str:
        """The cell's name."""
        return str(self.values["name"])

    @property
    def facts(self) -> dict[str, Any]:
        """What came out, as in the `cell.json` of a run, without what lay on the machine alone."""
        facts: dict[str, Any] = self.values["facts"]
        return facts

    def reasons_against(self, cell: Cell, fingerprint: str) -> Iterator[str]:
        """Say why it is not the cell that is wanted on the corpus with this fingerprint; nothing if it is."""
        seen = self.facts["corpus"]["fingerprint"]
        if seen != fingerprint:
            yield f"the corpus was another one (fingerprint {seen}, now {fingerprint})"
        if self.facts["split"] != cell.split:
            yield f"the split was {self.facts['split']}, not {cell.split}"
        if self.config is None:
            yield "its settings are of another version"
        elif changed := list_changes(_on(cell.config.data.corpus, self.config), cell.config):
            yield f"settings differ ({'; '.join(changed)})"

    def answers(self, ids: list[str], labels: list[list[str]], groups: list[str] | None) -> Answers:
        """Return its answers for the documents with these ids, true labels and groups."""
        names = self.values["labels"]
        true = [sorted(names[place] for place in one) for one in self.values["true"]]
        if true != [sorted(set(one)) for one in labels]:
            raise _damaged(self.path, "its true labels are not those of the corpus")
        return Answers(
            names=tuple(names),
            frequencies=tuple(self.values["frequencies"]),
            ids=tuple(ids),
            chosen=Sets.of(self.values["given"]),
            actual=Sets.of(self.values["true"]),
            groups=None if groups is None else tuple(groups),
        )


def publish_cell(name: str, facts: Mapping[str, Any], answers: Answers, folder: Path) -> Path:
    """Write a cell; one of the same name with other settings or of another corpus stays beside it."""
    values = {
        "format": FORMAT,
        "name": name,
        "facts": facts,
        "labels": answers.names,
        "frequencies": answers.frequencies,
        "groups": _places(answers.groups),
        "given": _lists(answers.chosen),
        "true": _lists(answers.actual),
    }
    path = _path_for(name, facts, folder)
    lines = [f"{json.dumps(key)}: {_compact(value)}" for key, value in values.items()]
    write_text(path, ",\n".join(["{" + lines[0], *lines[1:], f'"sha256": "{_checksum(values)}"']) + "}\n")
    return path


def read_cell(path: Path) -> PublishedCell:
    """Read a published cell; one that is not as it was written is refused."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        version = values["format"]
        recorded = values.pop("sha256", None)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(path, "it is no JSON of a cell") from error
    if version != FORMAT:
        raise InputError(f"{path} has format {version}, and this version reads format {FORMAT}")
    if recorded != _checksum(values):
        raise _damaged(path, "its checksum is not the recorded one")
    values["facts"] = update_keys(values["facts"])
    try:
        return PublishedCell(path, values, validate(values["facts"]["config"]))
    except ConfigError:
        return PublishedCell(path, values, None)


def read_cells(folder: Path) -> list[PublishedCell]:
    """Read all published cells of a folder."""
    found = [read_cell(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        raise InputError(
            f"--cells is {folder}, which holds no published cells; it must be such as results/NAME/cells"
        )
    return found


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} is damaged: {why}; put it back, or delete it to train the cell anew")


def _path_for(name: str, facts: Mapping[str, Any], folder: Path) -> Path:
    path = folder / f"{name}.json"
    wanted = Cell(facts["row"], validate(facts["config"]), folder / name, facts["split"])
    fingerprint = facts["corpus"]["fingerprint"]
    if not path.is_file() or not list(read_cell(path).reasons_against(wanted, fingerprint)):
        return path
    identity = _checksum([facts["config"], facts["split"], fingerprint])
    return folder / f"{name}-{identity[:8]}.json"


def _on(corpus: str, config: Config) -> Config:
    """Return settings with the corpus at another place: its fingerprint says whether it is the same."""
    return config.model_copy(update={"data": config.data.model_copy(update={"corpus": corpus})})


def _places(groups: tuple[str, ...] | None) -> list[int] | None:
    """Return a number for each document's group: the groups' names belong to the corpus."""
    if groups is None:
        return None
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return [numbers[group] for group in groups]


def _lists(sets: Sets) -> list[list[int]]:
    return [one.tolist() for one in np.split(sets.labels, sets.ends[1:-1])]


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _checksum(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


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
    part = open_training_corpus(cell.config.data).split(cell.split)
    answers = published.answers(part.ids(), part.labels(), part.groups())
    with write_folder_aside(cell.folder) as aside:
        answers.save(aside / ANSWERS)
        write_toml(cell.config, RunFolder(aside).config)
        stored = {"file": ANSWERS, "sha256": compute_sha256(aside / ANSWERS)}
        facts = _facts(cell, published) | {"answers": stored}
        write_json(aside / FACTS, facts)
    return CellResult(cell.row, cell.folder, facts)


def _facts(cell: Cell, published: PublishedCell) -> dict[str, Any]:
    return published.facts | {"row": cell.row, "config": cell.config.model_dump(mode="json")}
