"""`seq2set data stats`: corpus statistics as tables for a terminal of 80 columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2set.cli import options
from seq2set.cli.data import Data, count_documents, open_data
from seq2set.core.text_utils import make_printable, shorten

if TYPE_CHECKING:
    from seq2set.cli.console import Cell
    from seq2set.corpora.stats import CorpusStatistics


@options.add_fields(options.Columns)
def stats(
    data: Data,
    top: Annotated[int, typer.Option(min=1, help="How many labels and pairs of labels to show.")] = 20,
    plot: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw plots (PNG) into a folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    **columns: Any,
) -> None:
    """Describe a corpus in numbers. They say how large it is, and which labels go together."""
    from seq2set.cli.console import RichProgress
    from seq2set.corpora.stats import compute_statistics

    corpus = open_data(data, columns)
    with RichProgress().stage("reading", count_documents(corpus)) as advance:
        statistics = compute_statistics(corpus, top=top, progress=advance)
    if plot is not None:
        from seq2set.corpora.stats_plots import draw_statistics

        for path in draw_statistics(statistics, plot):
            typer.echo(f"drawn: {path}", err=True)
    if as_json:
        typer.echo(json.dumps(statistics.to_dict()))
    else:
        print_statistics(statistics, top)


def print_statistics(statistics: CorpusStatistics, top: int) -> None:
    """Print the paper's Table 1 row and what else is worth knowing, `top` labels and pairs of labels."""
    from rich.console import Console
    from rich.text import Text

    from seq2set.cli.console import print_table

    heads = ("documents", *statistics.splits, "labels", "words/doc", "labels/doc")
    counts = (statistics.documents, *statistics.splits.values(), statistics.labels)
    means = (statistics.words_per_document, statistics.labels_per_document)
    row = [*(f"{count:,}" for count in counts), *(f"{mean:,.2f}" for mean in means)]
    print_table(heads, [row], numbers=heads, title=make_printable(statistics.name))
    quantiles = statistics.lengths.quantiles
    lengths = [f"{value:,.0f}" for value in quantiles.values()]
    print_table(tuple(quantiles), [lengths], numbers=quantiles, title="Words per document")
    heads = ("labels", "documents", "share")
    rows = _list_cardinalities(statistics, top)
    print_table((*heads, ""), rows, numbers=heads, title="Labels per document")
    title = f"Most frequent labels ({len(statistics.label_frequencies[:top]):,} of {statistics.labels:,})"
    heads = ("train", "all", "share")
    print_table(("label", *heads), _list_frequencies(statistics, top), numbers=heads, title=title)
    if statistics.correlations:
        heads, rows = ("phi", "both", "first", "second"), _list_correlations(statistics)
        print_table(("label", "label", *heads), rows, numbers=heads, title="Strongest correlations (phi)")
    console = Console(highlight=False)
    sets = statistics.label_sets
    unique = f"{sets.unique:,} documents ({100 * sets.unique_share:.1f} %)"
    console.print(
        Text(f"{sets.distinct:,} different label sets; {unique} have a label set that no other document has.")
    )
    mean, greatest = statistics.imbalance
    most = f"{greatest:,.1f} times at most"
    console.print(Text(f"Labels are {mean:,.1f} times rarer than the most frequent one on average, {most}."))


def _list_cardinalities(statistics: CorpusStatistics, top: int) -> list[Sequence[Cell]]:
    from rich.text import Text

    shown = [(f"{row.labels:,}", row.documents) for row in statistics.cardinalities[:top]]
    more = statistics.cardinalities[top:]
    if more:
        shown.append((f"{more[0].labels:,} or more", sum(row.documents for row in more)))
    most = max((documents for _, documents in shown), default=1)
    rows: list[Sequence[Cell]] = []
    for labels, documents in shown:
        bar = Text("█" * round(30 * documents / most), style="cyan")
        rows.append((labels, f"{documents:,}", _format_share(documents, statistics.documents), bar))
    return rows


def _list_frequencies(statistics: CorpusStatistics, top: int) -> list[Sequence[Cell]]:
    rows: list[Sequence[Cell]] = []
    for row in statistics.label_frequencies[:top]:
        share = _format_share(row.total, statistics.documents)
        rows.append((shorten(row.label, 44), f"{row.train:,}", f"{row.total:,}", share))
    return rows


def _list_correlations(statistics: CorpusStatistics) -> list[Sequence[Cell]]:
    rows: list[Sequence[Cell]] = []
    for pair in statistics.correlations:
        counts = (pair.together, pair.first_documents, pair.second_documents)
        names = (shorten(name, 22) for name in (pair.first, pair.second))
        rows.append((*names, f"{pair.phi:+.2f}", *(f"{count:,}" for count in counts)))
    return rows


def _format_share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"
