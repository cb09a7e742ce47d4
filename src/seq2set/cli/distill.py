"""`seq2set distill`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from seq2set.cli import idle_options, options
from seq2set.cli.train import print_outcome


@options.add_fields(options.Columns)
def distill(
    context: typer.Context,
    teacher: Annotated[Path, typer.Argument(metavar="RUN", help="The teacher: a run or a model folder.")],
    out: Annotated[Path, typer.Option(help="The run folder of the student.")],
    data: options.Data = None,
    unlabelled: Annotated[
        list[str] | None,
        typer.Option(
            help="A file, glob or folder of texts without labels, as predict --input takes them; may be "
            "repeated."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The student, one of the models below.  [default: seq2set-simp]"),
    ] = None,
    preset: options.Preset = None,
    config: options.ConfigFile = None,
    assignments: options.Assignments = None,
    folds: Annotated[
        int | None,
        typer.Option(
            help="How many models to train with the teacher's settings, each without a part of the training "
            "documents, which it then labels; 0 for none.  [default: 4]"
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            help="The teacher's weight on training documents; their labels have the rest.  [default: 0.5]"
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a run that was stopped; needs RUN and --out only.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run that is in the folder.")] = False,
    **columns: Any,
) -> None:
    """Train a small model, taught by a large one. It is tuned and calibrated on validation labels."""
    from seq2set.cli.console import RichProgress
    from seq2set.config import build_config
    from seq2set.workflows.distill import distill as run_distillation
    from seq2set.workflows.teaching_record import Teaching, read_teaching

    merged = options.merge_assignments(assignments, columns, {"data.corpus": data})
    begun = options.read_begun(out, preset) if resume else None
    idle_options.refuse_settings(assignments, {"preset": "--preset", "model": "--model"})
    if model is None and config is None and begun is None:
        model = "seq2set-simp"
    chosen = build_config(preset=preset, model=model, file=config, assignments=merged, base=begun)
    given = {"unlabelled": tuple(unlabelled) if unlabelled else None, "folds": folds, "share": share}
    recorded = read_teaching(out) if resume else {}
    teaching = Teaching(**recorded | {name: value for name, value in given.items() if value is not None})
    if not teaching.folds:
        idle_options.refuse_idle(context, "with --folds 0, by which no training document is taught", "share")
    texts = bool(teaching.unlabelled)
    idle_options.refuse_unread(chosen.data.corpus, columns, assignments, texts=texts)
    progress = RichProgress()
    if unread := idle_options.describe_unread(assignments, [chosen]):
        progress.note(unread)
    run = run_distillation(chosen, teacher, out, teaching, resume=resume, force=force, progress=progress)
    print_outcome(run, progress)
