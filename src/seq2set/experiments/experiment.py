"""An experiment from its plan to its page."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from seq2set.experiments.asked import asked
from seq2set.experiments.cells import CellResult
from seq2set.experiments.options import Options
from seq2set.experiments.planning import Schedule, make_schedule
from seq2set.experiments.registry import load_experiment
from seq2set.experiments.results import write_results
from seq2set.experiments.running import run_cells
from seq2set.experiments.sections import Findings
from seq2set.progress import Progress, Silent


class Finished(NamedTuple):
    """What an experiment found, and the page that tells it."""

    findings: Findings
    page: Path


def plan_experiment(name: str, options: Options) -> Schedule:
    """Say which cells an experiment needs, which of them are done, and how long the rest takes."""
    return make_schedule(load_experiment(name).cells(options), options)


def run_experiment(name: str, options: Options, progress: Progress | None = None) -> Finished:
    """Do the cells that are left, and write the results; cells that failed are named at the end."""
    outcome = run_cells(plan_experiment(name, options), progress or Silent())
    if not outcome.results:
        outcome.raise_failures()
    finished = write_experiment(name, options, outcome.results)
    outcome.raise_failures()
    return finished


def write_experiment(name: str, options: Options, results: list[CellResult]) -> Finished:
    """Write what finished cells say."""
    experiment = load_experiment(name)
    sections = experiment.sections(options, results)
    findings = Findings(name, experiment.TITLE, sections, results, asked(options))
    return Finished(findings, write_results(findings, options.out / name))
