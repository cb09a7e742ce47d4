"""`seq2set tune`."""

from __future__ import annotations

import shlex
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2set.cli import idle_options, options
from seq2set.core.text_utils import count_things

if TYPE_CHECKING:
    from seq2set.tuning.search import StudyResult

RULE_KINDS = {
    "global": "one threshold for all labels",
    "per-label": "one threshold per label",
    "expected-f1": "the set of the highest expected F1",
    "top-k": "the k highest-scoring labels",
    "per-frequency": "thresholds that fall with how rare a label is",
    "best": "whichever of these is best on held-out documents",
    "balanced": "of those that lose nothing against one threshold, the one of the highest macro-F1",
}
"""The kinds of decision rules for the help, which must not import what computes them."""


_METRICS = options.read_summaries("seq2set.config.catalog:list_tunable")
TABLES = {"Metrics": _METRICS, "Kinds of rules": lambda: RULE_KINDS}
"""What the help lists below the options."""


@options.add_fields(options.Columns)
def tune(
    context: typer.Context,
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
    trials: Annotated[int, typer.Option(help="How many trials the study has in all.")] = 20,
    jobs: Annotated[int, typer.Option(help="Trials at a time, each in a process of its own.")] = 1,
    engine: options.Engine = "local",
    address: options.Address = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="The metric on validation, see below.  [default: micro_f1]"),
    ] = None,
    carve: Annotated[
        float | None,
        typer.Option(help="The share of train to validate on, where there is no validation split."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a study that was stopped.")] = False,
    thresholds: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Tune the decision rule of this trained model, and nothing else."),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="The kind of rule for --thresholds, see below.")
    ] = "best",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --thresholds or --calibrate: store nothing.")
    ] = False,
    calibrate: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Calibrate the scores of this trained model, and nothing else."),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="precision=P",
            help="With --thresholds: find the scores from which on labels may be accepted unseen.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="How sure --accept has to be of its precision.")] = 0.9,
    undo: Annotated[
        bool, typer.Option("--undo", help="Undo the last --thresholds or --calibrate of the model.")
    ] = False,
    **columns: Any,
) -> None:
    """Find the best settings, or the best thresholds. Both are chosen on validation."""
    if accept is not None and (thresholds is None or undo):
        from seq2set.core.errors import InputError

        raise InputError("--accept goes with --thresholds RUN, and not with --undo")
    _refuse_idle(context, thresholds, calibrate, accept, undo=undo)
    if any(value is not None for value in columns.values()):
        idle_options.refuse_unread(data or _name_corpus(thresholds or calibrate), columns)
    if (changed := thresholds or calibrate) is not None:
        how = {"data": data, "columns": options.name_columns(columns), "dry_run": dry_run}
        if undo:
            from seq2set.tuning.tunable_model import undo_rule

            typer.echo(f"the rule is again: {undo_rule(changed).describe()}")
        elif thresholds is None:
            _calibrate(changed, how)
        elif accept is not None:
            _accept(thresholds, accept, confidence, how)
        else:
            _tune_rule(thresholds, kind, metric or "micro_f1", how)
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
    decided = {"preset": "--preset"} | ({} if model is None else {"model": "--model"})
    idle_options.refuse_settings(assignments, decided)
    settings: options.Settings = {"data.corpus": data, "seed": seed, "decision.metric": metric}
    merged = options.merge_assignments(assignments, columns, settings)
    chosen = build_config(preset=preset, model=model, file=config, assignments=merged)
    idle_options.refuse_unread(chosen.data.corpus, columns, assignments)
    if engine == "local":
        idle_options.refuse_idle(context, "without --engine ray", "address")
    if unread := idle_options.describe_unread(assignments, [chosen]):
        typer.echo(unread, err=True)
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


_TRAINING = ("out", "model", "preset", "config", "assignments", "seed", "space", "trials", "jobs")
_SCHEDULE = ("engine", "address", "carve", "resume")
_RULES = ("kind", "metric", "confidence")
"""Options by what they are for"""


def _refuse_idle(
    context: typer.Context, thresholds: Path | None, calibrate: Path | None, accept: str | None, *, undo: bool
) -> None:
    """Refuse options of other work than is to be done."""
    from seq2set.core.errors import InputError

    if thresholds is not None and calibrate is not None:
        raise InputError("--thresholds and --calibrate are both given; give one per command")
    refuse = partial(idle_options.refuse_idle, context)
    if thresholds is None and calibrate is None:
        refuse("without --thresholds", "kind", "confidence")
        return
    work = "--undo" if undo else "--thresholds" if thresholds is not None else "--calibrate"
    refuse(f"with {work}, which trains nothing", *_TRAINING, *_SCHEDULE)
    if undo:
        columns = (one.name for one in fields(options.Columns))
        refuse("with --undo", "data", "dry_run", *columns)
    elif calibrate is not None:
        refuse("with --calibrate", *_RULES)
    elif accept is not None:
        refuse("with --accept", "kind", "metric")
    else:
        refuse("without --accept", "confidence")


def _name_corpus(model: Path | None) -> str | None:
    from seq2set.workflows.training_corpus import name_training_corpus

    return None if model is None else name_training_corpus(model)


def _print_study(found: StudyResult) -> None:
    from seq2set.tuning.study import format_value

    best, path = found.best, found.folder.path
    typer.echo(f"best {found.metric} {best.score:.4f}: trial {best.number} of {len(found.rows)}, with")
    for name, value in best.settings.items():
        typer.echo(f"  {name} = {format_value(value)}")
    typer.echo(f"all trials are in {path / 'trials.md'}, their picture in {path / 'study.png'}")
    typer.echo(f"its model is there already: seq2set evaluate {found.run.path}")
    typer.echo(f"to train with these settings: seq2set train --config {found.folder.best} --out RUN")


def _tune_rule(model: Path, kind: str, metric: str, how: dict[str, Any]) -> None:
    from seq2set.cli.console import RichProgress
    from seq2set.tuning.decision_rules import tune_rule

    tuned = tune_rule(model, kind=kind, metric=metric, **how, progress=RichProgress())
    rule, on = f"{tuned.rule.describe()} ({tuned.kind})", count_things(tuned.documents, "document")
    if tuned.kept:
        typer.echo(f"the present rule is kept: {rule}")
        typer.echo(f"{metric} on {on}: {tuned.before[metric]:.4f}")
    else:
        typer.echo(f"rule: {rule}")
        typer.echo(f"{metric} on {on}: {tuned.before[metric]:.4f} -> {tuned.after[metric]:.4f}")
    if how["dry_run"]:
        typer.echo("nothing was stored")
    elif not tuned.kept:
        typer.echo(f"back to the rule before: seq2set tune --thresholds {shlex.quote(str(model))} --undo")


def _calibrate(model: Path, how: dict[str, Any]) -> None:
    from seq2set.cli.console import RichProgress
    from seq2set.tuning.calibrated_scores import calibrate_model

    found = calibrate_model(model, **how, progress=RichProgress())
    ways = ", ".join(f"{search} by {way}" for search, way in found.ways.items())
    typer.echo(f"calibrated on {count_things(found.documents, 'document')}: {ways}")
    for name in ("calibration_error", "brier", "log_loss"):
        typer.echo(f"{name}: {found.before[name]:.4f} -> {found.after[name]:.4f} (held out in turn)")
    typer.echo(f"micro_f1: {found.micro_f1[0]:.4f} -> {found.micro_f1[1]:.4f}")
    _tell_undo("--calibrate", model, how["dry_run"])


def _accept(model: Path, accept: str, confidence: float, how: dict[str, Any]) -> None:
    from seq2set.cli.console import RichProgress
    from seq2set.labels.confidence.acceptance import describe_accepted
    from seq2set.tuning.calibrated_scores import accept_labels

    precision = _read_precision(accept)
    found = accept_labels(model, precision, confidence, **how, progress=RichProgress())
    said = describe_accepted({"precision": precision, **found._asdict()})
    typer.echo(f"{said} (with a confidence of {100 * confidence:g} %)")
    if found.accepted:
        suggestions, own = count_things(found.suggested, "suggestion"), count_things(found.own, "label")
        have = "has a threshold of its" if found.own == 1 else "have a threshold of their"
        typer.echo(
            f"on {suggestions}: {found.accepted:,} accepted, {found.right:,} of them right; "
            f"{own} {have} own, the others one together"
        )
    never = sum(one is None for one in found.thresholds)
    if never:
        typer.echo(f"labels without enough evidence, which are always to be reviewed: {never}")
    _tell_undo("--thresholds", model, how["dry_run"])


def _read_precision(accept: str) -> float:
    from seq2set.core.errors import InputError

    name, _, value = accept.partition("=")
    try:
        if name != "precision":
            raise ValueError
        return float(value)
    except ValueError:
        raise InputError(f"--accept is '{accept}'; it must be precision=P, such as precision=0.95") from None


def _tell_undo(option: str, model: Path, dry_run: bool) -> None:
    back = f"back to what was before: seq2set tune {option} {shlex.quote(str(model))} --undo"
    typer.echo("nothing was stored" if dry_run else back)
