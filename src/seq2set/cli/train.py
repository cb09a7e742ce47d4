"""`seq2set train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from seq2set.cli import options


@options.add_fields(options.Columns)
def train(
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    data: options.Data = None,
    model: options.Model = None,
    preset: options.Preset = None,
    config: options.ConfigFile = None,
    assignments: options.Assignments = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")] = False,
    **columns: Any,
) -> None:
    """Train a model on a corpus."""
    from seq2set.cli.console import RichProgress
    from seq2set.config import build_config
    from seq2set.workflows.train import train as run_training

    merged = options.merge_assignments(assignments, columns, {"data.corpus": data})
    chosen = build_config(preset=preset, model=model, file=config, assignments=merged)
    progress = RichProgress()
    run = run_training(chosen, out, resume=resume, progress=progress)
    progress.note(f"the model is in {run.model}; measure it with: seq2set evaluate {out}")
