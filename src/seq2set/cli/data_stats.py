"""`seq2set data stats`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from seq2set.cli import columns


def stats(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A prepared folder, a known name, or a file.")],
    top: Annotated[int, typer.Option(min=1, help="How many labels and pairs of labels to show.")] = 20,
    plot: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw plots (PNG) into a folder.")] = None,
    text: columns.Text = "text",
    labels: columns.Labels = "labels",
    separator: columns.Separator = None,
    encoding: columns.Encoding = "utf-8",
    keep_missing: columns.KeepMissing = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Describe a corpus: its size, its labels, and how they go together."""
    from seq2set.cli.console import RichProgress
    from seq2set.corpora.document import SPLITS
    from seq2set.corpora.opening import open_corpus
    from seq2set.corpora.readers.options import AUTO
    from seq2set.corpora.reading import ReadOptions
    from seq2set.corpora.statistics import corpus_statistics

    options = ReadOptions(
        text=text,
        labels=labels,
        split=AUTO,
        separator=separator,
        encoding=encoding,
        keep_missing=keep_missing,
    )
    corpus = open_corpus(data, options)
    for remark in corpus.remarks:
        typer.echo(remark, err=True)
    with RichProgress().stage("reading", sum(len(corpus.split(name)) for name in SPLITS)) as advance:
        statistics = corpus_statistics(corpus, top=top, progress=advance)
    if plot is not None:
        from seq2set.corpora.statistics_plots import draw

        for path in draw(statistics, plot):
            typer.echo(f"drawn: {path}", err=True)
    if as_json:
        typer.echo(json.dumps(statistics.to_dict()))
    else:
        from seq2set.cli.data_stats_tables import print_statistics

        print_statistics(statistics, top)
