"""`seq2set predict`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2set.cli import idle_options, options
from seq2set.core.processes import pause_collections

if TYPE_CHECKING:
    from seq2set.core.progress import Progress
    from seq2set.workflows.predict import OutputPlan, PredictionJob, Totals
    from seq2set.workflows.prediction_input import InputFile, PredictionInput


TABLES = {"Engines": options.read_summaries("seq2set.inference.engines:ENGINES")}
"""What the help lists below the options."""


@options.add_fields(options.TextColumns)
def predict(
    context: typer.Context,
    model: options.ModelFolder,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Texts; without any, lines of standard input.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            help="A file, glob or folder: CSV, TSV, JSON, Parquet or Excel with a text column, or .txt; or "
            "- for lines of standard input; may be repeated.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--output",
            help="Write the input's columns, labels and scores to a .csv, .tsv, .jsonl, .parquet or .xlsx "
            "file, to a folder of shards, or with - to standard output.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="The format of standard input and output, or of shards.  [default: jsonl]"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an output that exists.")] = False,
    threshold: options.Threshold = None,
    top_k: options.TopK = None,
    max_labels: Annotated[int | None, typer.Option(help="Return at most this many labels.")] = None,
    min_labels: Annotated[
        int, typer.Option(help="Return at least this many labels, also without known words.")
    ] = 0,
    search: options.Search = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Name the words for and against each label.")
    ] = False,
    engine: options.Engine = "local",
    workers: Annotated[
        int | None, typer.Option(help="Processes of one thread each; by default as many as pay.")
    ] = None,
    address: options.Address = None,
    shard_size: Annotated[int, typer.Option(help="Documents per shard, for an output folder.")] = 8_192,
    runtime: options.Runtime = "auto",
    as_json: options.JsonLines = False,
    **columns: Any,
) -> None:
    """Assign labels to texts. One without a word that the model knows gets none, and a note."""
    with pause_collections():
        from seq2set.corpora.readers import ReadOptions
        from seq2set.inference.engines.blocks import EngineSettings
        from seq2set.models.predictions import Request
        from seq2set.workflows.predict import PredictionJob, plan_output, write_predictions, write_shards
        from seq2set.workflows.prediction_input import (
            list_file_formats,
            recall_columns,
            take_files,
            take_texts,
        )

    named = options.name_columns(columns)
    strip = named.pop("strip_html", None)  # files are read as they are, so that nothing is stripped twice
    request = Request(threshold, max_labels, min_labels, search, explain, top_k=top_k, strip_html=strip)
    settings = EngineSettings(model, request, workers, address=address, runtime=runtime)
    read = ReadOptions(labels=None, keep_columns=True, **named)
    _refuse_idle(context, texts, source, out)
    idle_options.mention_search(context, [model])
    if engine == "local":
        idle_options.refuse_idle(context, "without --engine ray", "address")
    with _find_files(texts, source, form) as files:
        if files and all(one.remote is None for one in files):
            idle_options.refuse_misread(list_file_formats(files), columns)
        if files:
            read = recall_columns(read, named, model, files)
        job = PredictionJob(settings, read, engine)
        _tell_uncalibrated(job)
        output = None if out is None else plan_output(out, form, files, force=force)
        if output is not None and not output.folder:
            idle_options.refuse_idle(context, f"on {output.path}, which is one file", "shard_size")
        if output is not None and output.folder:
            _tell(write_shards(job, files, output, _choose_progress(), size=shard_size, force=force), output)
            return
        items = take_files(files, read) if files else take_texts(texts or _read_lines(read.encoding))
        if output is None:
            _print(job, items, as_json=as_json)
        else:
            _tell(write_predictions(job, items, output, _choose_progress()), output)


def _refuse_idle(
    context: typer.Context, texts: list[str] | None, source: list[str] | None, out: str | None
) -> None:
    """Refuse options that change nothing, as the input and the output are."""
    refuse = partial(idle_options.refuse_idle, context)
    columns = [one.name for one in fields(options.TextColumns) if one.name != "strip_html"]
    reads_format = source == ["-"]
    if texts:
        refuse("on texts that are typed", *columns)
    elif not source or (reads_format and context.params["form"] is None):
        refuse("on lines of standard input", *(name for name in columns if name != "encoding"))
    if out is None:
        refuse("without --output", "force", "shard_size", *([] if reads_format else ["form"]))
    elif out != "-":
        refuse("with --output, whose name says the format", "as_json")


@contextmanager
def _find_files(
    texts: list[str] | None, source: list[str] | None, form: str | None
) -> Iterator[list[InputFile]]:
    """Give the files to read; none for texts and for lines of standard input."""
    from seq2set.core.errors import InputError
    from seq2set.workflows.prediction_input import STANDARD, find_inputs, spool_standard_input

    if texts and source:
        raise InputError("texts are given both as arguments and by --input; give one of the two")
    if named := next((text for text in texts or () if _is_file(text)), None):
        raise InputError(f"the text '{named}' is the name of a file; pass --input {shlex.quote(named)}")
    if source != [STANDARD]:
        yield find_inputs(source or [])
    elif form is None:
        yield []
    else:
        with spool_standard_input(form) as files:
            yield files


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or not possible in one
        return False


def _read_lines(encoding: str) -> Iterator[str]:
    from seq2set.workflows.prediction_input import read_standard_input

    typer.echo("reading texts from standard input, one per line", err=True)
    return read_standard_input(encoding)


def _choose_progress() -> Progress:
    from seq2set.cli.console import PlainProgress, RichProgress

    return RichProgress() if sys.stderr.isatty() else PlainProgress()


def _print(job: PredictionJob, items: PredictionInput, *, as_json: bool) -> None:
    from seq2set.cli.console import print_prediction
    from seq2set.inference.predictor import Prediction
    from seq2set.workflows.predict import Totals, predict_rows

    totals = Totals()
    for rows in predict_rows(job, items, totals):
        for document, prediction in rows:
            found = Prediction(document.id, document.text, *prediction)
            if as_json:
                typer.echo(json.dumps(found.to_dict(explain=job.explain), ensure_ascii=False))
            else:
                print_prediction(found)
    _tell_cut(totals)


def _tell(totals: Totals, output: OutputPlan) -> None:
    from seq2set.workflows.prediction_input import STANDARD

    if str(output.path) != STANDARD:
        typer.echo(f"the labels are in {output.path} (texts: {totals.texts:,})", err=True)
    _tell_cut(totals)


def _tell_uncalibrated(job: PredictionJob) -> None:
    from seq2set.inference.model_folder import read_confidence
    from seq2set.labels.confidence.acceptance import NOT_CALIBRATED

    calibrated = read_confidence(job.settings.model).calibrators
    search = job.settings.request.search
    if calibrated and search is not None and search not in calibrated:
        typer.echo(f"the {NOT_CALIBRATED}: those of '{search}' are left as they are", err=True)


def _tell_cut(totals: Totals) -> None:
    from seq2set.text.cut_texts import describe_cut

    for sentence in describe_cut(totals.cut, totals.texts):
        typer.echo(sentence, err=True)
