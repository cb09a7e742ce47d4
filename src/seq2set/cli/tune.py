"""`seq2set tune`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2set.cli import options

if TYPE_CHECKING:
    from seq2set.tuning.decision_rules import TunedModel
    from seq2set.tuning.search import StudyResult

RULE_KINDS = {
    "global": "one threshold for all labels",
    "per-label": "one threshold per label",
    "expected-f1": "the set of the highest expected F1",
    "top-k": "the k highest-scoring labels",
    "best": "whichever of these is best on held-out documents",
}
"""The kinds of decision rules for the help, which must not import what computes them."""


def _list_metrics() -> dict[str, str]:
    from seq2set.config.catalog import list_tunable

    return {name: row.summary for name, row in list_tunable().items()}


TABLES = {"Metrics": _list_metrics, "Kinds of rules": lambda: RULE_KINDS}
"""What the help lists below the options."""


@options.add_fields(options.Columns)
def tune(
    data: options.Data = None,
    model: options.Model = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the study.")] = None,
    preset: options.Preset = None,
    config: options.ConfigFile = None,
    assignments: options.Assignments = None,
    seed: Annotated[int | None, typer.Option(help="The seed of the search and of every trial.")] = None,
    space: Annotated[
        Path | None, typer.Option(help="A TOML file of what to vary; by default the model's own.")
    ] = None,
    trials: Annotated[int, typer.Option(help="How many trials the study is to have in all.")] = 20,
    jobs: Annotated[int, typer.Option(help="How many trials to do at a time, each in a process.")] = 1,
    engine: options.Engine = "local",
    address: options.Address = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="The metric on validation, see below.  [default: micro_f1]"),
    ] = None,
    carve: Annotated[
        float | None, typer.Option(help="The share of train to validate on, for a corpus without validation.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a study that was stopped.")] = False,
    thresholds: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Tune the decision rule of this trained model, and nothing else."),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="The kind of rule for --thresholds, see below.")
    ] = "best",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Find thresholds and store none.")] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Give the model of --thresholds the rule that it had before.")
    ] = False,
    **columns: Any,
) -> None:
    """Find the best settings, or the best thresholds. Both are chosen on validation."""
    if thresholds is not None:
        if undo:
            _undo_rule(thresholds)
        else:
            _tune_rule(thresholds, kind, metric or "micro_f1", data, options.name_columns(columns), dry_run)
        return
    from seq2set.cli.console import RichProgress
    from seq2set.config import build_config
    from seq2set.core.cluster import Workplace
    from seq2set.core.errors import InputError, import_extra

    if dry_run or undo:
        raise InputError(
            f"--{'undo' if undo else 'dry-run'} is for thresholds; pass --thresholds with a model"
        )
    if out is None:
        raise InputError("no folder is named; pass --out with the folder of the study")
    settings: options.Settings = {"data.corpus": data, "seed": seed, "decision.metric": metric}
    merged = options.merge_assignments(assignments, columns, settings)
    chosen = build_config(preset=preset, model=model, file=config, assignments=merged)
    import_extra("optuna", "tune")
    from seq2set.tuning.search import tune as search

    found = search(
        chosen,
        out,
        space=space,
        trials=trials,
        jobs=jobs,
        place=Workplace(engine, address),
        carve=carve,
        resume=resume,
        progress=RichProgress(),
    )
    _print_study(found)


def _print_study(found: StudyResult) -> None:
    from seq2set.tuning.study import format_value

    best, path = found.best, found.folder.path
    typer.echo(f"best {found.metric} {best.score:.4f}: trial {best.number} of {len(found.rows)}, with")
    for name, value in best.settings.items():
        typer.echo(f"  {name} = {format_value(value)}")
    typer.echo(f"all trials are in {path / 'trials.md'}, their picture in {path / 'study.png'}")
    typer.echo(f"its model is there already: seq2set evaluate {found.run.path}")
    typer.echo(f"to train with these settings: seq2set train --config {found.folder.best} --out RUN")


def _undo_rule(model: Path) -> None:
    from seq2set.tuning.decision_rules import undo_rule

    typer.echo(f"the rule is again: {undo_rule(model).describe()}")


def _tune_rule(
    model: Path, kind: str, metric: str, data: str | None, columns: dict[str, Any], dry_run: bool
) -> None:
    from seq2set.cli.console import RichProgress
    from seq2set.tuning.decision_rules import tune_rule

    progress = RichProgress()
    tuned = tune_rule(
        model, kind=kind, metric=metric, data=data, columns=columns, dry_run=dry_run, progress=progress
    )
    _print_rule(tuned, metric)
    if dry_run:
        typer.echo("nothing was stored")
    elif not tuned.kept:
        typer.echo(f"back to the rule before: seq2set tune --thresholds {shlex.quote(str(model))} --undo")


def _print_rule(tuned: TunedModel, metric: str) -> None:
    if tuned.kept:
        typer.echo(f"the present rule is kept: {tuned.rule.describe()} ({tuned.kind})")
        typer.echo(f"{metric} on {tuned.documents:,} documents: {tuned.before[metric]:.4f}")
        return
    typer.echo(f"rule: {tuned.rule.describe()} ({tuned.kind})")
    before, after = tuned.before[metric], tuned.after[metric]
    typer.echo(f"{metric} on {tuned.documents:,} documents: {before:.4f} -> {after:.4f}")
