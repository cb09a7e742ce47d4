"""`seq2set data check`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from seq2set.cli import columns


def check(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A prepared folder, a known name, or a file.")],
    min_label_documents: Annotated[
        int, typer.Option(min=1, help="Labels with fewer documents in train are called rare.")
    ] = 5,
    near_duplicate: Annotated[
        float, typer.Option(min=0.5, max=1.0, help="How similar two texts must be to be called the same.")
    ] = 0.9,
    text: columns.Text = "text",
    labels: columns.Labels = "labels",
    separator: columns.Separator = None,
    encoding: columns.Encoding = "utf-8",
    keep_missing: columns.KeepMissing = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find what would spoil a training run, before it starts; exit code 1 where there is an error."""
    from seq2set.cli.console import RichProgress
    from seq2set.config import build_config
    from seq2set.corpora.checks.checking import check_corpus
    from seq2set.corpora.document import SPLITS
    from seq2set.corpora.opening import open_corpus
    from seq2set.corpora.readers.options import AUTO
    from seq2set.corpora.reading import ReadOptions

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
    documents = sum(len(corpus.split(name)) for name in SPLITS)
    with RichProgress().stage("checking", documents) as advance:
        findings = check_corpus(
            corpus,
            min_label_documents=min_label_documents,
            near_duplicate=near_duplicate,
            words_read=build_config(preset="compact").encoder.max_words,
            progress=advance,
        )
    failed = any(finding.level == "error" for finding in findings)
    if as_json:
        found = [finding.to_dict() for finding in findings]
        typer.echo(
            json.dumps({"data": corpus.name, "documents": documents, "passed": not failed, "findings": found})
        )
    else:
        from seq2set.cli.data_check_list import print_findings

        print_findings(findings, corpus.name, documents)
    if failed:
        raise typer.Exit(1)
