"""`seq2set data check`: findings as a list for a terminal of 80 columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2set.cli import options
from seq2set.cli.data import Data, count_documents, open_data
from seq2set.core.text_utils import count_things, make_printable, shorten

if TYPE_CHECKING:
    from seq2set.corpora.checks import Finding


@options.add_fields(options.Columns)
def check(
    data: Data,
    min_label_documents: Annotated[
        int, typer.Option(min=1, help="Labels with fewer documents in train are called rare.")
    ] = 5,
    near_duplicate: Annotated[
        float, typer.Option(min=0.5, max=1.0, help="How similar two texts must be to be called the same.")
    ] = 0.9,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    **columns: Any,
) -> None:
    """Find what would spoil a training. The exit code is 1 where there is an error."""
    from seq2set.cli.console import RichProgress
    from seq2set.config import build_config
    from seq2set.corpora.checks import check_corpus

    corpus = open_data(data, columns)
    documents = count_documents(corpus)
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
        print_findings(findings, corpus.name, documents)
    if failed:
        raise typer.Exit(1)


_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


def print_findings(findings: Sequence[Finding], name: str, documents: int) -> None:
    """Print each finding with its reason and its cure, and how many there are of each level."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from seq2set.corpora.checks import LEVELS

    console = Console(highlight=False)
    for finding in findings:
        head = Text(finding.level, style=_STYLES[finding.level]) + Text(f" {finding.code}", style="bold")
        console.print(head + Text(f": {make_printable(finding.what)}."))
        shown = "; ".join(shorten(example, 200) for example in finding.examples)
        lines = {"why": f"{finding.why}.", "do": f"{finding.todo}.", "such as": Text(shown, style="dim")}
        for title, line in lines.items():
            console.print(Padding(Text(f"{title}: ", style="italic") + line, (0, 0, 0, 2)))
        console.print()
    counts: Counter[str] = Counter(finding.level for finding in findings)
    summary = ", ".join(count_things(counts[level], level) for level in LEVELS)
    console.print(Text(f"{make_printable(name)}, {count_things(documents, 'document')}: {summary}."))
