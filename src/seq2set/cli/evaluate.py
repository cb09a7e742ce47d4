"""`seq2set evaluate`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from seq2set.cli import idle_options, options


@options.add_fields(options.Columns)
def evaluate(
    context: typer.Context,
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Runs or model folders; the report (with all models' reliability), --errors and --show are "
            "on the last.",
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
            help="Keep or leave out documents that a model was trained or tuned on; by default they are "
            "left out, but for those of a test split that came with the model's own corpus.",
        ),
    ] = None,
    threshold: options.Threshold = None,
    top_k: options.TopK = None,
    search: options.Search = None,
    runtime: options.Runtime = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per model.")] = False,
    show: Annotated[
        int, typer.Option(min=0, help="Show this many documents with their labels and the evidence for them.")
    ] = 0,
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence",
            help="Measure how faithful the reasons of predictions are, and write it onto the model card.",
        ),
    ] = False,
    evidence_documents: Annotated[
        int, typer.Option(help="On how many documents --evidence measures, drawn with a seed.")
    ] = 200,
    per_label: Annotated[bool, typer.Option("--per-label", help="Print each label's figures too.")] = False,
    errors: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Write the documents with wrong or missing labels to this file."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with tables and plots here.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the report folder and the file of errors.")
    ] = False,
    **columns: Any,
) -> None:
    """Measure models on a split of a corpus."""
    from seq2set.cli.console import (
        RichProgress,
        list_remarks,
        print_evaluation,
        print_evidence,
        print_per_label,
        print_prediction,
    )
    from seq2set.core.outputs import refuse_occupied
    from seq2set.models.predictions import Request
    from seq2set.workflows.evaluate import evaluate as measure
    from seq2set.workflows.evaluate import refuse_errors_file, sample_predictions
    from seq2set.workflows.training_corpus import name_training_corpus

    _refuse_idle(context, models, report is None and errors is None, evidence, as_json)
    if any(value is not None for value in columns.values()):
        for corpus in [data] if data else map(name_training_corpus, models):
            idle_options.refuse_unread(corpus, columns)
    if report is not None:
        from seq2set.evaluation.report import REPORT  # loads Matplotlib, which measuring does without

        refuse_occupied(report, force=force, kind=REPORT)
    if errors is not None:
        refuse_errors_file(errors, force=force)
    request = Request(threshold=threshold, top_k=top_k, search=search)
    named, progress = options.name_columns(columns), RichProgress()
    where: dict[str, Any] = {
        "data": data,
        "columns": named,
        "split": split,
        "include_seen": include_seen,
        "runtime": runtime,
    }
    found = [
        measure(
            model,
            **where,
            request=request,
            progress=progress,
            errors=errors if place == len(models) else None,
            evidence_documents=evidence_documents if evidence else None,
        )
        for place, model in enumerate(models, start=1)
    ]
    if report is not None:
        from seq2set.evaluation.report import write_report

        write_report(found[-1], report, beside=found[:-1], force=force)
    if as_json:
        for one in found:
            per = {"per_label": [row._asdict() for row in one.result.per_label]} if per_label else {}
            typer.echo(json.dumps(one.summary() | per))
        for sentence in list_remarks(found):
            progress.note(sentence)
    else:
        print_evaluation(*found)
        print_evidence(*found)
        for one in found if per_label else ():
            print_per_label(one)
    if show:
        for prediction, actual in sample_predictions(models[-1], **where, count=show, request=request):
            print_prediction(prediction, actual)
    if errors is not None:
        typer.echo(f"the documents with wrong or missing labels are in {errors}", err=True)
    if report is not None:
        typer.echo(f"the report is in {report / 'index.html'}", err=True)


def _refuse_idle(
    context: typer.Context, models: list[Path], writes_nothing: bool, evidence: bool, as_json: bool
) -> None:
    """Refuse options that change nothing beside the others."""
    refuse = partial(idle_options.refuse_idle, context)
    if writes_nothing:
        refuse("without --report or --errors", "force")
    if not evidence:
        refuse("without --evidence", "evidence_documents")
    if as_json:
        refuse("with --json, which has no place for text", "show")
    idle_options.mention_search(context, models)
