"""`seq2set experiment`."""

from __future__ import annotations

import shlex
import sys
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2set.cli import idle_options, options

if TYPE_CHECKING:
    from seq2set.experiments.cells.plan import CellTime, Schedule
    from seq2set.experiments.options import Options
    from seq2set.experiments.render.tables import Table
    from seq2set.experiments.run import WrittenExperiment, WrittenExperiments


def _list_own_options() -> dict[str, str]:
    from seq2set.experiments import EXPERIMENTS

    return {
        f"{name}: {option}": declared.help
        for name, row in EXPERIMENTS.items()
        for option, declared in row.options.items()
    }


_DECIDED = {"data.corpus": "--data", "model": "--models", "seed": "--seeds", "preset": "--preset"}
"""Settings of a cell that options alone decide"""

TABLES = {
    "Experiments": options.read_summaries(
        "seq2set.experiments:EXPERIMENTS", all="all of these, with one page"
    ),
    "Options of experiments (--option NAME=VALUE)": _list_own_options,
}
"""What the help lists below the options."""


@options.add_fields(options.Columns)
def experiment(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of the experiments below.")],
    data: options.RequiredData,
    out: Annotated[Path, typer.Option(help="The folder for the trainings and the results.")],
    models: Annotated[
        str | None,
        typer.Option(help="Models separated by commas, or all; by default those of the experiment."),
    ] = None,
    seeds: Annotated[
        str, typer.Option(help="Seeds separated by commas: one training each, where a model uses them.")
    ] = "1",
    preset: options.Preset = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL=FILE", help="Settings of one model, such as tuned ones; may be repeated."
        ),
    ] = None,
    assignments: options.Assignments = None,
    jobs: Annotated[int, typer.Option(help="Trainings at a time, each with its share of the cores.")] = 1,
    engine: options.Engine = "local",
    address: options.Address = None,
    cells: Annotated[
        Path | None,
        typer.Option(
            help="A folder of published cells, such as results/NAME/cells: those of the same corpus and "
            "settings are reused, and only the others are trained."
        ),
    ] = None,
    resamples: Annotated[int | None, typer.Option(hidden=True)] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="An option of the experiment's own, see below; may be repeated."
        ),
    ] = None,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Short for --option retrain=yes, of remove-frequent.")
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            help="Wait at the end for trainings in the same folder that other processes do; or leave these "
            "out as pending, with exit code 3."
        ),
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and the time it takes.")] = False,
    **columns: Any,
) -> None:
    """Train and compare models, as the paper's tables do."""
    from seq2set.core.cluster import Workplace
    from seq2set.core.errors import PendingError
    from seq2set.experiments import find_experiment
    from seq2set.experiments.options import (
        Options,
        parse_extra,
        parse_files,
        parse_models,
        parse_seeds,
        refuse_unused_files,
    )

    if resamples is not None:  # commands that were written down before still run
        typer.echo("--resamples has no effect: intervals are computed, not drawn", err=True)
    idle_options.refuse_unread(data, columns, assignments)
    idle_options.refuse_settings(assignments, _DECIDED)
    if engine == "local":
        idle_options.refuse_idle(context, "without --engine ray", "address")
    row = find_experiment(name)
    if retrain:
        idle_options.refuse_settings(option, {"retrain": "--retrain alone"}, "--option")
    own = [*(option or []), *(["retrain=yes"] if retrain else [])]
    request = Options(
        data=data,
        out=out,
        models=parse_models(row.models if models is None else models),
        seeds=parse_seeds(seeds),
        preset=preset,
        files=parse_files(config or []),
        assignments=tuple(options.merge_assignments(assignments, columns)),
        jobs=jobs,
        place=Workplace(engine, address),
        published=cells,
        waits=wait,
        extra=parse_extra(own, row.options),
    )
    refuse_unused_files(request.files, request.models)
    configs = [request.config(model, 1) for model in request.models]
    if unread := idle_options.describe_unread(assignments, configs):
        typer.echo(unread, err=True)
    try:
        _run(name, request, dry_run=dry_run)
    except PendingError as error:
        raise PendingError(f"{error}: seq2set {shlex.join(sys.argv[1:])}") from error


def _run(name: str, request: Options, *, dry_run: bool) -> None:
    from seq2set.cli.console import RichProgress
    from seq2set.experiments import ALL
    from seq2set.experiments.run import plan_all, plan_experiment, run_all, run_experiment

    progress = RichProgress()
    if dry_run:
        _print_plan(plan_all(request, progress) if name == ALL else plan_experiment(name, request))
    elif name == ALL:
        run_all(request, progress, _show_overview)
    else:
        run_experiment(name, request, progress, _show_findings)


def _show_findings(written: WrittenExperiment) -> None:
    section = written.findings.sections[0]
    _print_table(section.tables[0])
    for sentence in section.sentences():
        typer.echo(sentence)
    typer.echo(f"the results are in {written.page}", err=True)


def _show_overview(written: WrittenExperiments) -> None:
    for findings, _ in written.parts:
        typer.echo(f"{findings.title}: {' '.join(findings.gist()[:1])}")
    typer.echo(f"the results are in {written.page}", err=True)


def _print_plan(schedule: Schedule) -> None:
    from seq2set.cli.console import print_table
    from seq2set.experiments.cells.plan import format_duration

    rows = [
        (cell.name, state, format_duration(time.seconds), _describe_source(state, time))
        for cell, state, time in schedule.list_steps()
    ]
    title = f"cells: {len(schedule.cells)}, to be done: {len(schedule.left)}"
    print_table(("Cells", "state", "time", "from"), rows, numbers=("time",), title=title)
    for sentence in schedule.stored.list_notes() if schedule.stored else ():
        typer.echo(sentence)
    typer.echo(f"{schedule.describe_time_left()} with --jobs {schedule.jobs}")


def _describe_source(state: str, time: CellTime) -> str:
    """Return where the time of a cell is known from."""
    if state in ("done", "published"):
        return "its training"
    source = "" if time.seconds is None else "the model's others"
    return ", ".join(filter(None, [source, "shared" if time.shares else ""]))


def _print_table(shown: Table) -> None:
    """Print as many columns as there is room for; the files have them all."""
    from rich.console import Console
    from rich.text import Text

    from seq2set.cli.console import print_table

    columns = [_format_column(shown, place) for place in range(len(shown.columns))]
    between = 3  # what a terminal's table puts between two columns
    first = max(map(len, [shown.rows_are, *(row.name for row in shown.rows)])) + between
    widths = accumulate((max(map(len, texts)) + between for texts in columns), initial=first)
    columns = columns[: sum(width < Console().width for width in widths) - 1]
    rows: list[list[str | Text]] = []
    for number, row in enumerate(shown.rows):
        best = [number in shown.find_best(place) for place in range(len(columns))]
        texts = [texts[1 + number] for texts in columns]
        rows.append([row.name, *map(Text, texts, ["bold" if one else "" for one in best])])
    heads = [texts[0] for texts in columns]
    print_table((shown.rows_are, *heads), rows, numbers=heads, title=shown.title)


def _format_column(shown: Table, place: int) -> list[str]:
    """Return the texts of a column, its head first, as narrow as they go."""
    from seq2set.experiments.render.tables import format_entry

    texts = [format_entry(row.entries[place]) for row in shown.rows]
    return [shown.columns[place].head, *(text.replace(" ± ", "±") for text in texts)]
