"""`seq2set export`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from seq2set.cli import idle_options, options


def export(
    context: typer.Context,
    model: options.ModelFolder,
    target: Annotated[str, typer.Option("--to", metavar="FORMAT", help="The format: onnx.")] = "onnx",
    data: Annotated[
        str | None,
        typer.Option(help="The corpus to compare on; by default the one that the model was trained on."),
    ] = None,
    int8: Annotated[bool, typer.Option("--int8", help="Store weights as 8-bit numbers.")] = False,
    max_loss: Annotated[
        float, typer.Option(help="With --int8: how much validation micro-F1 may be lost.")
    ] = 0.002,
    force: Annotated[bool, typer.Option("--force", help="Replace graphs that are there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Export a model for use without torch."""
    from seq2set.cli.console import RichProgress
    from seq2set.core.names import find_named
    from seq2set.workflows.export import TARGETS, ExportOptions, describe_export

    if not int8:
        idle_options.refuse_idle(context, "without --int8", "max_loss")
    run = find_named("format", target, TARGETS)
    report = run(model, ExportOptions(data, int8, max_loss, force), RichProgress())
    if as_json:
        typer.echo(json.dumps(report._asdict() | {"folder": str(report.folder)}))
        return
    for sentence in describe_export(report):
        typer.echo(sentence)
