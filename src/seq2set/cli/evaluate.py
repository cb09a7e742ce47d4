"""`seq2set evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from seq2set.cli import options


def evaluate(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Runs or model folders; the report and --show are on the last."
        ),
    ],
    data: Annotated[
        str | None, typer.Option(help="The corpus; by default the one it was trained on.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="train, valid or test; by default test, or all of a plain file that is not the run's own."
        ),
    ] = None,
    include_seen: Annotated[
        bool | None,
        typer.Option(
            "--include-seen/--leave-out-seen",
            help="Keep or leave out documents that a model was trained or tuned on; by default the splits of "
            "its own corpus keep them, and other documents do not.",
        ),
    ] = None,
    threshold: options.Threshold = None,
    top_k: options.TopK = None,
    search: options.Search = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per model.")] = False,
    show: Annotated[
        int, typer.Option(help="Show this many documents with their labels and the evidence for them.")
    ] = 0,
    report: Annotated[Path | None, typer.Option(help="Write a page with tables and plots here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is in the report folder.")] = False,
) -> None:
    """Measure models on a split of a corpus."""
    from seq2set.cli.console import RichProgress, print_evaluation, remarks
    from seq2set.core.files import refuse_occupied
    from seq2set.models.predictions import Request
    from seq2set.workflows.evaluate import evaluate as measure

    if report is not None:
        refuse_occupied(report, force=force)
    request = Request(threshold=threshold, top_k=top_k, search=search)
    progress = RichProgress()
    found = [
        measure(model, data=data, split=split, include_seen=include_seen, request=request, progress=progress)
        for model in models
    ]
    if report is not None:
        from seq2set.evaluation.report import write_report

        write_report(found[-1], report, force=force)
    if as_json:
        for one in found:
            typer.echo(json.dumps(one.summary()))
        for sentence in remarks(found):
            progress.note(sentence)
    else:
        print_evaluation(*found)
    if show:
        _show(models[-1], data, split, include_seen, show)
    if report is not None:
        typer.echo(f"the report is in {report / 'index.html'}", err=True)


def _show(model: Path, data: str | None, split: str | None, include_seen: bool | None, count: int) -> None:
    from seq2set.cli.console import print_prediction
    from seq2set.workflows.evaluate import sample_predictions

    shown = sample_predictions(model, data=data, split=split, include_seen=include_seen, count=count)
    for prediction, actual in shown:
        print_prediction(prediction, actual)
