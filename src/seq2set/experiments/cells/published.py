"""Published cells: finished cells as `results/` keeps them, without weights and texts.

`results/<corpus>-<preset>/cells/<cell>.json` holds the result, every setting, and the predicted (in the
model's order) and true labels of each measured document, by their indices. Ids and texts stay in the corpus.
An experiment uses such a cell instead of a training where the corpus and the settings are the very same,
and names those that it does not use.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seq2set.config import Config, validate, write_toml
from seq2set.config.loader import list_changes
from seq2set.config.run_folder import RunFolder
from seq2set.config.run_locks import hold_run
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.files import compute_sha256, update_keys, write_json, write_text
from seq2set.core.progress import Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.seen_texts import SeenTexts
from seq2set.experiments.cells.cell import ANSWERS, FACTS, Cell, CellResult, read_result
from seq2set.experiments.cells.predictions import Answers, Sets
from seq2set.models.tagger import Examples
from seq2set.workflows.evaluate import open_measured, select_unseen_part
from seq2set.workflows.training_corpus import TrainingCorpus, open_training_corpus
from seq2set.workflows.training_data import load_examples, load_training_data

FORMAT = 1
"""The version of the file's layout."""


@dataclass(frozen=True, eq=False)
class PublishedCell:
    """The contents of a published file."""

    path: Path
    values: Mapping[str, Any]
    facts: dict[str, Any]
    """The result, as in the `cell.json` of a run, without what was on the machine alone"""
    config: Config | None
    """Its settings; None where this version has no such settings any more"""

    @property
    def name(self) -> str:
        """The cell's name."""
        return str(self.values["name"])

    def list_mismatches(self, cell: Cell, fingerprint: str) -> Iterator[str]:
        """Yield why it is not the cell that is wanted, on a corpus with this fingerprint."""
        seen = self.facts["corpus"]["fingerprint"]
        if seen != fingerprint:
            yield f"the corpus was another one (fingerprint {seen}, now {fingerprint})"
        if self.facts["split"] != cell.split:
            yield f"the split was {self.facts['split']}, not {cell.split}"
        if self.config is None:
            yield "its settings are of another version"
        # The corpus may lie elsewhere and be read otherwise: its fingerprint tells if it is the same.
        elif changed := list_changes(self.config.model_copy(update={"data": cell.config.data}), cell.config):
            yield f"settings differ ({'; '.join(changed)})"

    def read_answers(self, ids: list[str], labels: list[list[str]], groups: list[str] | None) -> Answers:
        """Return its predictions for the documents with these ids, true labels and groups."""
        names = self.values["labels"]
        true = [sorted(names[place] for place in one) for one in self.values["true"]]
        if true != [sorted(set(one)) for one in labels]:
            raise _build_damage(self.path, "its true labels are not those of the corpus")
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
    # The names of groups stay in the corpus.
    numbers = {group: number for number, group in enumerate(dict.fromkeys(answers.groups or ()))}
    values = {
        "format": FORMAT,
        "name": name,
        "facts": facts,
        "labels": answers.names,
        "frequencies": answers.frequencies,
        "groups": answers.groups and [numbers[group] for group in answers.groups],
        "given": _to_lists(answers.chosen),
        "true": _to_lists(answers.actual),
    }
    path = _choose_path(name, facts, folder)
    values["sha256"] = _compute_checksum(values)
    lines = [f"{json.dumps(key)}: {_dump(value)}" for key, value in values.items()]
    write_text(path, "{" + ",\n".join(lines) + "}\n")
    return path


def read_cell(path: Path) -> PublishedCell:
    """Read a published cell; one that is not as it was written is refused."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        version = values["format"]
        recorded = values.pop("sha256", None)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _build_damage(path, "it is no JSON of a cell") from error
    if version != FORMAT:
        raise InputError(f"{path} has format {version}, and this version reads format {FORMAT}")
    if recorded != _compute_checksum(values):
        raise _build_damage(path, "its checksum is not the recorded one")
    facts, config = update_keys(values["facts"]), None
    with suppress(ConfigError):
        config = validate(facts["config"])
    return PublishedCell(path, values, facts, config)


def _build_damage(path: Path, why: str) -> InputError:
    return InputError(f"{path} is damaged: {why}; put it back, or delete it to train the cell again")


def _choose_path(name: str, facts: Mapping[str, Any], folder: Path) -> Path:
    path = folder / f"{name}.json"
    wanted = Cell(facts["row"], validate(facts["config"]), folder / name, facts["split"])
    fingerprint = facts["corpus"]["fingerprint"]
    if not path.is_file() or not list(read_cell(path).list_mismatches(wanted, fingerprint)):
        return path
    identity = _compute_checksum([facts["config"], facts["split"], fingerprint])
    return folder / f"{name}-{identity[:8]}.json"


def _to_lists(sets: Sets) -> list[list[int]]:
    return [one.tolist() for one in np.split(sets.labels, sets.ends[1:-1])]


def _dump(value: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)


def _compute_checksum(value: Any) -> str:
    return hashlib.sha256(_dump(value, sort_keys=True).encode()).hexdigest()


class PublishedCells:
    """The published cells of a folder, and those that an experiment uses."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.cells = [read_cell(path) for path in sorted(folder.glob("*.json"))]
        if not self.cells:
            raise InputError(
                f"--cells is {folder}, which holds no published cells; it must be such as results/NAME/cells"
            )
        self.chosen: dict[str, PublishedCell] = {}
        """The published cells that are used, by the names that they have in the experiment"""
        self._refused: defaultdict[str, list[str]] = defaultdict(list)

    def choose(self, cell: Cell, corpus: PreparedCorpus) -> CellResult | None:
        """Return the result of a cell where it is published; nothing is written yet."""
        against = {one: list(one.list_mismatches(cell, corpus.fingerprint)) for one in self.cells}
        fitting = [one for one, reasons in against.items() if not reasons]
        if not fitting:
            namesakes = [reasons for one, reasons in against.items() if one.name == cell.name]
            for reason in min(namesakes, key=len, default=[])[:1]:
                self._refused[reason].append(cell.name)
        elif cell.folder.is_dir() and any(cell.folder.iterdir()):
            self._refused[f"{cell.folder.parent} has started it"].append(cell.name)
        else:
            chosen = next((one for one in fitting if one.name == cell.name), fitting[0])
            self.chosen[cell.name] = chosen
            return CellResult(cell.row, cell.folder, _build_facts(cell, chosen))
        return None

    def list_notes(self) -> Iterable[str]:
        """Yield how many cells are used, and why others that are published are not."""
        if self.chosen:
            yield f"{len(self.chosen)} of the cells are taken from {self.folder}"
        for reason, names in self._refused.items():
            yield f"not taken from {self.folder} but trained here: {', '.join(names)}; {reason}"

    def write(self, cell: Cell) -> CellResult:
        """Write a finished cell from the published one that was chosen for it, without a model."""
        with hold_run(cell.folder):
            if (done := read_result(cell)) is not None:
                return done
            published = self.chosen[cell.name]
            part = _open_measured_documents(cell, published)
            labels = [list(one) for one in part.label_sets]
            answers = published.read_answers(list(part.ids), labels, part.groups)
            write_toml(cell.config, RunFolder(cell.folder).config)  # first: one killed here can be trained
            answers.save(cell.folder / ANSWERS)
            stored = {"file": ANSWERS, "sha256": compute_sha256(cell.folder / ANSWERS)}
            facts = _build_facts(cell, published) | {"answers": stored}
            write_json(cell.folder / FACTS, facts)  # last: it says that the cell is done
            return CellResult(cell.row, cell.folder, facts)


def _open_measured_documents(cell: Cell, published: PublishedCell) -> Examples:
    """Open the documents that a published cell was measured on, without those that it left out.

    They are those of the corpus that its training saw, which needs no model to be known.
    """
    corpus = open_training_corpus(cell.config.data)
    examples = load_examples(corpus.split(cell.split))
    if not published.facts.get("seen", {}).get("left_out"):
        return examples
    learnt = load_training_data(corpus, Silent())
    seen = SeenTexts.of(learnt.learn.texts, learnt.tune.texts)
    measured = open_measured(TrainingCorpus(cell.config.data), None, cell.split)
    chosen = select_unseen_part(measured, seen, published.facts)
    return examples.pick(np.flatnonzero(chosen.kept))


def _build_facts(cell: Cell, published: PublishedCell) -> dict[str, Any]:
    return published.facts | {"row": cell.row, "config": cell.config.model_dump(mode="json")}
