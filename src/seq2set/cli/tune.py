"""`seq2set tune`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seq2set.tuning.decision_rules import TunedModel
    from seq2set.tuning.search import StudyResult


def tune(
    data: Annotated[
        str | None, typer.Option(help="A prepared folder, a known corpus, a file, or an AAPD folder.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Which model to tune.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the study.")] = None,
    preset: Annotated[str | None, typer.Option(help="Which preset to start from.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings over the preset.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="One setting, as section.name=value; may be repeated.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of the search and of every trial.")] = None,
    space: Annotated[
        Path | None, typer.Option(help="A TOML file of what to vary; by default the model's own.")
    ] = None,
    trials: Annotated[int, typer.Option(help="How many trials the study is to have in all.")] = 20,
    jobs: Annotated[int, typer.Option(help="How many trials to do at a time, each in a process.")] = 1,
    metric: Annotated[
        str | None, typer.Option(help="The metric on validation; by default micro_f1.", show_default=False)
    ] = None,
    carve: Annotated[
        float | None, typer.Option(help="The share of train to validate on, for a corpus without validation.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a study that was stopped.")] = False,
    thresholds: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Tune the decision rule of this trained model, and nothing else."),
    ] = None,
    kind: Annotated[
        str, typer.Option(help="The decision rule for --thresholds: global, per-label, top-k or best.")
    ] = "best",
) -> None:
    """Search for the settings of a model, or the decision rule of a trained one, on validation."""
    if thresholds is not None:
        _tune_rule(thresholds, kind, metric or "micro_f1", data)
        return
    from seq2set.cli.console import RichProgress
    from seq2set.config import build_config
    from seq2set.core.errors import InputError, import_extra

    if out is None:
        raise InputError("no folder is named; pass --out with the folder of the study")
    named = {"data.corpus": data and f'"{data}"', "seed": seed, "decision.metric": metric}
    assignments = [f"{name}={value}" for name, value in named.items() if value is not None]
    chosen = build_config(
        preset=preset, model=model, file=config, assignments=[*assignments, *(settings or [])]
    )
    import_extra("optuna", "tune")
    from seq2set.tuning.search import tune as search

    found = search(
        chosen,
        out,
        space=space,
        trials=trials,
        jobs=jobs,
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


def _tune_rule(model: Path, kind: str, metric: str, data: str | None) -> None:
    from seq2set.cli.console import RichProgress
    from seq2set.tuning.decision_rules import tune_rule

    progress = RichProgress()
    _print_rule(tune_rule(model, kind=kind, metric=metric, data=data, progress=progress), metric)


def _print_rule(tuned: TunedModel, metric: str) -> None:
    if tuned.kept:
        typer.echo(f"the present rule is kept: it gives {tuned.rule.in_words()} ({tuned.kind})")
        typer.echo(f"{metric} on {tuned.documents:,} documents: {tuned.before[metric]:.4f}")
        return
    typer.echo(f"it gives {tuned.rule.in_words()} ({tuned.kind})")
    before, after = tuned.before[metric], tuned.after[metric]
    typer.echo(f"{metric} on {tuned.documents:,} documents: {before:.4f} -> {after:.4f}")
