"""`seq2set experiment`."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2set.experiments import ALL, EXPERIMENTS

if TYPE_CHECKING:
    from seq2set.experiments.cells.plan import Estimate, Schedule
    from seq2set.experiments.options import Options
    from seq2set.experiments.render.tables import Table

_PADDING = 3
"""What a terminal's table puts between two columns."""

_NAMES = "; ".join(f"{name}: {entry.purpose}" for name, entry in EXPERIMENTS.items())
_NAMES += f"; {ALL}: every one of these, with one page over them"
_OPTIONS = "; ".join(
    f"{option} ({name}): {meaning}"
    for name, entry in EXPERIMENTS.items()
    for option, meaning in entry.options.items()
)


def experiment(
    name: Annotated[str, typer.Argument(help=f"Which experiment. {_NAMES}.")],
    data: Annotated[str, typer.Option(help="A prepared folder, a known corpus, a file, or an AAPD folder.")],
    out: Annotated[Path, typer.Option(help="The folder for the trainings and the results.")],
    models: Annotated[
        str | None,
        typer.Option(help="Models with commas between, or all; by default those of the experiment."),
    ] = None,
    seeds: Annotated[
        str, typer.Option(help="Seeds with commas between; a training each, where a model uses them.")
    ] = "1",
    preset: Annotated[str | None, typer.Option(help="Which preset to start from.")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL=FILE", help="Settings of one model, such as tuned ones; may be repeated."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="One setting, as section.name=value; may be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Trainings at a time, each with its share of the cores.")] = 1,
    cells: Annotated[
        Path | None,
        typer.Option(
            help="A folder of published cells, such as results/NAME/cells: those of the same corpus and "
            "settings are taken up, and only the others are trained."
        ),
    ] = None,
    resamples: Annotated[int | None, typer.Option(hidden=True)] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help=f"An option of the experiment's own; may be repeated. {_OPTIONS}."
        ),
    ] = None,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Short for --option retrain=yes, of remove-frequent.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and the time it takes.")] = False,
) -> None:
    """Train models side by side and compare them, as the paper's tables and figures do."""
    from seq2set.cli.console import RichProgress
    from seq2set.experiments import find_entry
    from seq2set.experiments.model_names import parse_models
    from seq2set.experiments.options import Options, parse_extra, parse_files, parse_seeds
    from seq2set.experiments.run import plan_experiment, run_experiment

    if resamples is not None:  # commands that were written down before still run
        typer.echo("--resamples has no effect: intervals are computed, not drawn", err=True)
    entry = find_entry(name)
    own = [*(option or []), *(["retrain=yes"] if retrain else [])]
    options = Options(
        data=data,
        out=out,
        models=parse_models(entry.models if models is None else models),
        seeds=parse_seeds(seeds),
        preset=preset,
        files=parse_files(config or []),
        assignments=tuple(settings or []),
        jobs=jobs,
        published=cells,
        extra=parse_extra(own, entry.options),
    )
    if name == ALL:
        _do_all(options, dry_run=dry_run)
        return
    if dry_run:
        _print_plan(plan_experiment(name, options))
        return
    findings, page = run_experiment(name, options, RichProgress())
    _print_table(findings.sections[0].tables[0])
    for sentence in findings.sections[0].sentences():
        typer.echo(sentence)
    typer.echo(f"the results are in {page}", err=True)


def _do_all(options: Options, *, dry_run: bool) -> None:
    from seq2set.cli.console import RichProgress
    from seq2set.experiments.render.pages import gist
    from seq2set.experiments.run import plan_all, run_all

    if dry_run:
        _print_plan(plan_all(options, RichProgress()))
        return
    parts, page = run_all(options, RichProgress())
    for findings, _ in parts:
        typer.echo(f"{findings.title}: {' '.join(gist(findings)[:1])}")
    typer.echo(f"the results are in {page}", err=True)


def _print_plan(schedule: Schedule) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable

    from seq2set.experiments.cells.plan import span

    title = f"cells: {len(schedule.cells)}, to be done: {len(schedule.left)}"
    table = RichTable(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("Cells", overflow="fold")
    table.add_column("state")
    table.add_column("time", justify="right")
    table.add_column("from")
    for cell, state, estimate in schedule.steps():
        table.add_row(cell.name, state, span(estimate.seconds), _source(state, estimate))
    Console().print(table)
    for sentence in schedule.shelf.notes() if schedule.shelf else ():
        typer.echo(sentence)
    typer.echo(f"about {span(schedule.seconds_left)} to go with --jobs {schedule.jobs}")


def _source(state: str, estimate: Estimate) -> str:
    """Say where the time of a cell is known from."""
    if state in ("done", "published"):
        return "its training"
    source = "the model's others" if estimate.measured else "a rule of thumb"
    return f"{source}, shared" if estimate.shares else source


def _print_table(shown: Table) -> None:
    """Print as many columns as there is room for; the files have them all."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console()
    columns = [_column(shown, place) for place in range(len(shown.columns))]
    first = max(map(len, [shown.rows_are, *(row.name for row in shown.rows)])) + _PADDING
    widths = accumulate((max(map(len, texts)) + _PADDING for texts in columns), initial=first)
    columns = columns[: sum(width < console.width for width in widths) - 1]
    table = RichTable(title=shown.title, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column(shown.rows_are, no_wrap=True)
    for texts in columns:
        table.add_column(texts[0], justify="right", no_wrap=True)
    for number, row in enumerate(shown.rows):
        best = [number in shown.best(place) for place in range(len(columns))]
        texts = [texts[1 + number] for texts in columns]
        table.add_row(row.name, *map(Text, texts, ["bold" if one else "" for one in best]))
    console.print(table)


def _column(shown: Table, place: int) -> list[str]:
    """Return the texts of a column, its head first, as narrow as they go."""
    from seq2set.experiments.render.tables import text_of

    texts = [text_of(row.entries[place]) for row in shown.rows]
    return [shown.columns[place].head, *(text.replace(" ± ", "±") for text in texts)]
