"""An experiment from its plan to its page; or all of them on one folder.

Trainings that experiments share are done once, and one page leads to all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.config import Config
from seq2set.config.loader import parse_assignment, walk_settings
from seq2set.core.errors import InputError
from seq2set.core.progress import Progress, Silent
from seq2set.experiments import EXPERIMENTS, load_study
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.cells.plan import Schedule, make_schedule
from seq2set.experiments.cells.run import run_cells
from seq2set.experiments.options import Options, parse_models
from seq2set.experiments.render.report import Findings, write_overview, write_results


def build_request_record(options: Options) -> dict[str, Any]:
    """Return what an experiment was asked for, as plain JSON; files by their names alone."""
    return {
        "corpus": options.open_corpus().name,
        "preset": options.config(options.models[0], 1).preset,
        "models": list(options.models),
        "seeds": list(options.seeds),
        "settings": list(options.assignments),
        "files": {model: path.name for model, path in options.files.items()},
        "options": dict(options.extra),
    }


class WrittenExperiment(NamedTuple):
    """The findings of an experiment, and their page."""

    findings: Findings
    page: Path


def plan_experiment(name: str, options: Options) -> Schedule:
    """Return which cells an experiment needs, which of them are done, and how long the rest takes."""
    cells = load_study(name).cells(options)
    _refuse_overridden(name, options, cells)
    return make_schedule(cells, options)


def _refuse_overridden(name: str, options: Options, cells: Sequence[Cell]) -> None:
    """Refuse settings that the experiment itself decides in every cell."""
    for key, _ in map(parse_assignment, options.assignments):
        if key.startswith("data."):  # of which some experiments make corpora of their own
            continue
        pairs = [(options.config(cell.config.model, 1), cell.config) for cell in cells]
        if cells and all(_find_setting(asked, key) != _find_setting(own, key) for asked, own in pairs):
            raise InputError(f"--set {key} has no effect on {name}, which sets it itself; leave it out")


def _find_setting(config: Config, key: str) -> Any:
    return dict(walk_settings(config.model_dump())).get(key)


def run_experiment(
    name: str,
    options: Options,
    progress: Progress | None = None,
    show: Callable[[WrittenExperiment], None] | None = None,
) -> WrittenExperiment:
    """Run the cells that are left, and write the results; at the end, raise where cells are not done.

    The results of the others are written by then, and `show` is given them.
    """
    outcome = run_cells(plan_experiment(name, options), progress or Silent())
    if not outcome.results:
        outcome.raise_failures()
    written = write_experiment(name, options, outcome.results)
    if show is not None:
        show(written)
    outcome.raise_failures()
    return written


def write_experiment(name: str, options: Options, results: list[CellResult]) -> WrittenExperiment:
    """Write the results of finished cells."""
    study = load_study(name)
    sections = study.sections(options, results)
    findings = Findings(name, study.title, sections, results, build_request_record(options))
    return WrittenExperiment(findings, write_results(findings, options.out / name))


class ExperimentPlan(NamedTuple):
    """One of all experiments, with its own options and cells."""

    name: str
    options: Options
    cells: list[Cell]

    def select_results(self, schedule: Schedule) -> list[CellResult]:
        """Return its cells that are done, under the names of its own rows."""
        done = [(cell, schedule.results.get(cell.name)) for cell in self.cells]
        return [replace(result, row=cell.row) for cell, result in done if result is not None]


class WrittenExperiments(NamedTuple):
    """All experiments, and the page over them."""

    parts: list[WrittenExperiment]
    page: Path


def list_cells(options: Options, progress: Progress | None = None) -> list[Cell]:
    """Return the trainings of all experiments, each once; those that are left out are named."""
    parts = _plan_parts(options, progress or Silent())
    return list({cell.folder: cell for part in parts for cell in part.cells}.values())


def plan_all(options: Options, progress: Progress) -> Schedule:
    """Return which cells there are, which of them are done, and how long the rest takes."""
    return make_schedule(list_cells(options, progress), options)


def run_all(
    options: Options,
    progress: Progress | None = None,
    show: Callable[[WrittenExperiments], None] | None = None,
) -> WrittenExperiments:
    """Run the cells that are left, and write every experiment; at the end, raise where cells are not done.

    The results of the others are written by then, and `show` is given them.
    """
    progress = progress or Silent()
    schedule = plan_all(options, progress)
    outcome = run_cells(schedule, progress)
    if not outcome.results:
        outcome.raise_failures()
    found = [(part, part.select_results(schedule)) for part in _plan_parts(options, Silent())]
    written = [write_experiment(part.name, part.options, results) for part, results in found if results]
    together = WrittenExperiments(written, write_overview([one.findings for one in written], options.out))
    if show is not None:
        show(together)
    outcome.raise_failures()
    return together


def _plan_parts(options: Options, progress: Progress) -> list[ExperimentPlan]:
    """Return the plan of each experiment; those that cannot be run are left out and named."""
    options.open_corpus()  # what is wrong with the corpus or the settings is wrong for all
    parts = []
    for name, row in EXPERIMENTS.items():
        models = tuple(model for model in parse_models(row.models) if model in options.models)
        extra = {one: value for one, value in options.extra.items() if one in row.options}
        try:
            if models:
                own = replace(options, models=models, extra=extra)
                parts.append(ExperimentPlan(name, own, load_study(name).cells(own)))
        except InputError as error:
            progress.note(f"{name} is left out: {error}")
    if not parts:
        raise InputError(f"no experiment can be run with --models {','.join(options.models)}")
    return parts
