"""`seq2set train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def train(
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    data: Annotated[
        str | None, typer.Option(help="A prepared folder, a known corpus, a file, or an AAPD folder.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Which model to train.")] = None,
    preset: Annotated[str | None, typer.Option(help="Which preset to start from.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings over the preset.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="One setting, as section.name=value; may be repeated.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
) -> None:
    """Train a model on a corpus."""
    from seq2set.cli.console import RichProgress
    from seq2set.config import build_config
    from seq2set.workflows.train import train as run_training

    assignments = list(settings or [])
    if data is not None:
        assignments.insert(0, f'data.corpus="{data}"')
    chosen = build_config(preset=preset, model=model, file=config, assignments=assignments)
    progress = RichProgress()
    run = run_training(chosen, out, resume=resume, progress=progress)
    progress.note(f"the model is in {run.model}; measure it with: seq2set evaluate {out}")
