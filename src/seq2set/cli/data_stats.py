"""`seq2set data stats`: corpus statistics as tables for a terminal of 80 columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seq2set.cli import options as columns
from seq2set.cli.data_corpus import Data, count_documents, open_data
from seq2set.core.text_utils import make_printable, shorten

if TYPE_CHECKING:
    from seq2set.corpora.stats import CorpusStatistics


def stats(
    data: Data,
    top: Annotated[int, typer.Option(min=1, help="How many labels and pairs of labels to show.")] = 20,
    plot: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw plots (PNG) into a folder.")] = None,
    text: columns.Text = "text",
    labels: columns.Labels = "labels",
    id_column: columns.Id = "id",
    separator: columns.Separator = None,
    encoding: columns.Encoding = "utf-8",
    keep_missing: columns.KeepMissing = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Describe a corpus: its size, its labels, and how they go together."""
    from seq2set.cli.console import RichProgress
    from seq2set.corpora.stats import compute_statistics

    corpus = open_data(data, text, labels, id_column, separator, encoding, keep_missing)
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


_BAR = 30


def print_statistics(statistics: CorpusStatistics, top: int) -> None:
    """Print the paper's Table 1 row and what else is worth knowing, `top` labels and pairs of labels."""
    console = Console(highlight=False)
    console.print(_size(statistics))
    console.print(_lengths(statistics))
    console.print(_cardinalities(statistics, top))
    console.print(_frequencies(statistics, top))
    if statistics.correlations:
        console.print(_correlations(statistics))
    console.print(Text(_label_sets(statistics)))
    console.print(Text(_imbalance(statistics)))


def _size(statistics: CorpusStatistics) -> Table:
    table = _table(make_printable(statistics.name))
    for head in ("documents", *statistics.splits, "labels", "words/doc", "labels/doc"):
        table.add_column(head, justify="right")
    counts = (statistics.documents, *statistics.splits.values(), statistics.labels)
    means = (statistics.words_per_document, statistics.labels_per_document)
    table.add_row(*(f"{count:,}" for count in counts), *(f"{mean:,.2f}" for mean in means))
    return table


def _lengths(statistics: CorpusStatistics) -> Table:
    table = _table("Words per document")
    for head in statistics.lengths.quantiles:
        table.add_column(head, justify="right")
    table.add_row(*(f"{value:,.0f}" for value in statistics.lengths.quantiles.values()))
    return table


def _cardinalities(statistics: CorpusStatistics, top: int) -> Table:
    table = _table("Labels per document")
    for head in ("labels", "documents", "share"):
        table.add_column(head, justify="right")
    table.add_column("")
    rows = [(f"{row.labels:,}", row.documents) for row in statistics.cardinalities[:top]]
    more = statistics.cardinalities[top:]
    if more:
        rows.append((f"{more[0].labels:,} or more", sum(row.documents for row in more)))
    most = max((documents for _, documents in rows), default=1)
    for labels, documents in rows:
        bar = "█" * round(_BAR * documents / most)
        table.add_row(
            labels, f"{documents:,}", _share(documents, statistics.documents), Text(bar, style="cyan")
        )
    return table


def _frequencies(statistics: CorpusStatistics, top: int) -> Table:
    shown = statistics.label_frequencies[:top]
    table = _table(f"Most frequent labels ({len(shown):,} of {statistics.labels:,})")
    table.add_column("label")
    for head in ("train", "all", "share"):
        table.add_column(head, justify="right")
    for row in shown:
        share = _share(row.total, statistics.documents)
        table.add_row(Text(shorten(row.label, 44)), f"{row.train:,}", f"{row.total:,}", share)
    return table


def _correlations(statistics: CorpusStatistics) -> Table:
    table = _table("Strongest correlations (phi)")
    for head in ("label", "label"):
        table.add_column(head)
    for head in ("phi", "both", "first", "second"):
        table.add_column(head, justify="right")
    for pair in statistics.correlations:
        counts = (pair.together, pair.first_documents, pair.second_documents)
        names = (Text(shorten(name, 22)) for name in (pair.first, pair.second))
        table.add_row(*names, f"{pair.phi:+.2f}", *(f"{count:,}" for count in counts))
    return table


def _label_sets(statistics: CorpusStatistics) -> str:
    sets = statistics.label_sets
    unique = f"{sets.unique:,} documents ({100 * sets.unique_share:.1f} %)"
    return f"{sets.distinct:,} different label sets; {unique} have a label set that no other document has."


def _imbalance(statistics: CorpusStatistics) -> str:
    mean, greatest = statistics.imbalance
    most = f"{greatest:,.1f} times at most"
    return f"Labels are {mean:,.1f} times rarer than the most frequent one on average, {most}."


def _table(title: str) -> Table:
    return Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"
