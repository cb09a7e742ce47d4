"""Every experiment on one folder: the trainings that they share are done once, and one page leads to all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from seq2set.errors import InputError
from seq2set.experiments.asked import asked_corpus
from seq2set.experiments.cells import Cell, CellResult
from seq2set.experiments.experiment import Finished, write_experiment
from seq2set.experiments.lineup import parse_models
from seq2set.experiments.options import Options
from seq2set.experiments.overview import write_overview
from seq2set.experiments.planning import Schedule, make_schedule
from seq2set.experiments.registry import EXPERIMENTS, load_experiment
from seq2set.experiments.running import run_cells
from seq2set.progress import Progress, Silent


class Part(NamedTuple):
    """One of the experiments, with its own options and cells."""

    name: str
    options: Options
    cells: list[Cell]

    def results(self, schedule: Schedule) -> list[CellResult]:
        """Return its cells that are done, under the names of its own rows."""
        done = [(cell, schedule.results.get(cell.name)) for cell in self.cells]
        return [replace(result, row=cell.row) for cell, result in done if result is not None]


class Everything(NamedTuple):
    """What the experiments found, and the page over all."""

    parts: list[Finished]
    page: Path


def cells(options: Options, progress: Progress | None = None) -> list[Cell]:
    """Return the trainings of all experiments, each once; those that are left out are named."""
    parts = _parts(options, progress or Silent())
    return list({cell.folder: cell for part in parts for cell in part.cells}.values())


def plan_all(options: Options, progress: Progress) -> Schedule:
    """Say which cells there are, which of them are done, and how long the rest takes."""
    return make_schedule(cells(options, progress), options)


def run_all(options: Options, progress: Progress | None = None) -> Everything:
    """Do the cells that are left, and write every experiment; cells that failed are named at the end."""
    progress = progress or Silent()
    schedule = plan_all(options, progress)
    outcome = run_cells(schedule, progress)
    if not outcome.results:
        outcome.raise_failures()
    found = [(part, part.results(schedule)) for part in _parts(options, Silent())]
    told = [write_experiment(part.name, part.options, results) for part, results in found if results]
    page = write_overview([one.findings for one in told], options.out)
    outcome.raise_failures()
    return Everything(told, page)


def _parts(options: Options, progress: Progress) -> list[Part]:
    """Give each experiment its own; one that cannot be done with these settings is left out and named."""
    asked_corpus(options)  # what is wrong with the corpus or the settings is wrong for all
    parts = []
    for name in EXPERIMENTS:
        try:
            parts += _part(name, options)
        except InputError as error:  # noqa: PERF203 (a dozen rounds)
            progress.note(f"{name} is left out: {error}")
    if not parts:
        raise InputError(f"no experiment can be done with --models {','.join(options.models)}")
    return parts


def _part(name: str, options: Options) -> list[Part]:
    entry = EXPERIMENTS[name]
    models = tuple(model for model in parse_models(entry.models) if model in options.models)
    if not models:
        return []
    extra = {one: value for one, value in options.extra.items() if one in entry.options}
    own = replace(options, models=models, extra=extra)
    return [Part(name, own, load_experiment(name).cells(own))]
