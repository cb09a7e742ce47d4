"""A comparison as the paper's table, with what the paper leaves out, and the paper's own numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from seq2set.config.catalog import METRICS, MODELS, Metric
from seq2set.core.text_utils import join_names
from seq2set.experiments.analysis.comparison import Comparison, Summary
from seq2set.experiments.analysis.estimates import SIGNIFICANT
from seq2set.experiments.analysis.margins import Contrast, Margin
from seq2set.experiments.analysis.published import PublishedRow, PublishedTable
from seq2set.experiments.render.plots import Plot, has_several_seeds, plot_f1_intervals
from seq2set.experiments.render.tables import Chance, Column, Entry, Quantity, Range, Row, Table, to_quantity


def list_paper_metrics() -> dict[str, Metric]:
    """Return the metrics of the paper's tables."""
    return {name: row for name, row in METRICS.items() if row.in_paper}


def make_paper_table(comparison: Comparison, rows_are: str = "Models") -> Table:
    """Return the paper's table, with intervals and differences beside it."""
    extra = [Column("F1, 95 %")]
    if comparison.differences and comparison.reference is not None:
        extra += [Column(f"over {comparison.reference.title}"), Column("95 % of it")]
        extra += [Column("p")] if _count_tests(comparison) else []
    columns = (*_make_paper_columns(), *extra)

    def list_entries(summary: Summary) -> list[Entry]:
        entries = [*_list_paper_entries(summary), Range(summary.interval)]
        if (one := comparison.differences.get(summary.key)) is not None:
            entries.append(Quantity(one.estimate.value, signed=True))
            entries.append(Range(one.estimate.interval, signed=True))
            if one.chance is not None:
                entries.append(Chance(one.chance, one.significant))
        return entries + [None] * (len(columns) - len(entries))

    facts = comparison.summaries[0].results[0].facts
    title = f"Performance on the {facts['split']} split of {facts['corpus']['name']}"
    rows = _make_rows(comparison, list_entries)
    return Table("results", title, columns, rows, _write_caption(comparison), rows_are)


def _make_rows(comparison: Comparison, entries: Callable[[Summary], Sequence[Entry]]) -> tuple[Row, ...]:
    rows = zip(comparison.summaries, comparison.ruled, strict=True)
    return tuple(Row(one.title, tuple(found), ruled) for one, ruled in rows if (found := entries(one)))


def _make_paper_columns() -> list[Column]:
    return [Column(row.short, row.better) for row in list_paper_metrics().values()]


def _list_paper_entries(summary: Summary) -> list[Entry]:
    return [to_quantity(summary.metrics[name], row.digits) for name, row in list_paper_metrics().items()]


def _write_caption(comparison: Comparison) -> str:
    measures = list_paper_metrics().values()
    shorts, titles = ([one.short for one in measures], [one.title for one in measures])
    signs = "(+): the higher the better, (-): the lower the better."
    parts = [f"{join_names(shorts)} denote {join_names(titles)}; {signs}"]
    most = max((one.results for one in comparison.summaries), key=len)
    if len(most) > 1:
        seeds = ", ".join(str(result.facts["seed"]) for result in most)
        parts.append(f"Mean ± deviation over the seeds {seeds}.")
    parts.append(describe_method(_count_tests(comparison), comparison.summaries))
    if few := [one.title for one in comparison.summaries if one.few]:
        parts.append(
            f"{join_names(few)}: fewer than three seeds, so that the interval is of what was trained, not of "
            "the method, and there is no p."
        )
    return " ".join(parts)


def _count_tests(comparison: Comparison) -> int:
    return sum(one.chance is not None for one in comparison.differences.values())


def make_cost_table(comparison: Comparison) -> Table:
    """Return the metrics that the paper does not have, and what the models cost."""
    metrics = {name: row for name, row in METRICS.items() if row.shown and not row.in_paper}
    columns = (
        *(Column(row.title, row.better) for row in metrics.values()),
        Column("validation F1", "higher"),
        Column("trainings"),
        Column("train minutes", "lower"),
        Column("documents/s", "higher"),
    )

    def list_entries(summary: Summary) -> list[Entry]:
        return [
            *(to_quantity(summary.metrics[name], row.digits) for name, row in metrics.items()),
            to_quantity(summary.validation["micro_f1"]),
            str(len(summary.results)),
            to_quantity(summary.minutes, 1),
            to_quantity(summary.speed, 0),
        ]

    caption = "Minutes are those of one training; documents per second are those of prediction."
    return Table("cost", "Other measures, and cost", columns, _make_rows(comparison, list_entries), caption)


def plot_f1(comparison: Comparison) -> Plot:
    """Draw the micro-F1 of each row with its interval."""
    rows, marked = comparison.summaries, comparison.reference
    rings = "; a ring for each seed" if has_several_seeds(rows) else ""
    caption = f"Micro-F1 with its 95 % interval{rings}."
    if marked is not None:
        caption += f" The square and the dashed line are {marked.title}, the best baseline on validation."
    return plot_f1_intervals(caption, rows, marked)


def make_published_table(published: PublishedTable) -> Table:
    """Return a table of the paper as it stands there."""
    first_own = next((model for model in published.rows if not MODELS[model].is_baseline), None)
    rows = [
        Row(MODELS[model].title, _list_published_entries(row), model == first_own)
        for model, row in published.rows.items()
    ]
    name = f"paper-{published.name.lower().replace(' ', '-')}"
    title = f"{published.name} of the paper: {published.title}"
    return Table(name, title, tuple(_make_paper_columns()), tuple(rows))


def make_side_by_side_table(comparison: Comparison, published: PublishedTable) -> Table:
    """Return each measure twice, ours and the paper's, for the rows whose model the paper has."""
    columns = [(column, Column(f"{column.name}, paper")) for column in _make_paper_columns()]

    def list_entries(summary: Summary) -> list[Entry]:
        if (row := published.rows.get(summary.model)) is None:
            return []
        pairs = zip(_list_paper_entries(summary), _list_published_entries(row), strict=True)
        return list(chain.from_iterable(pairs))

    title = f"Ours beside {published.name} of the paper"
    return Table("beside", title, tuple(chain.from_iterable(columns)), _make_rows(comparison, list_entries))


def _list_published_entries(row: PublishedRow) -> tuple[Entry, ...]:
    return tuple(Quantity(getattr(row, name), metric.digits) for name, metric in list_paper_metrics().items())


def make_margin_table(
    name: str, title: str, found: Sequence[Margin], published: Mapping[str, Sequence[float | None]]
) -> Table:
    """Return a row per margin, with columns of points that the paper has, an entry per margin."""
    heads = ("points of F1", "95 % of it", "p", "seeds", *published)
    rows = []
    for place, one in enumerate(found):
        entries = (
            _to_points(one.points),
            Range(one.interval, 1, signed=True),
            None if one.chance is None else Chance(one.chance, one.significant),
            " / ".join(str(len(side.results)) if side.f1.random else "–" for side in one.pair),
        )
        theirs = (_to_points(column[place]) for column in published.values())
        rows.append(Row(one.title, (*entries, *theirs)))
    tests = sum(one.chance is not None for one in found)
    caption = [
        f"Differences in {METRICS['micro_f1'].title}, in hundredths.",
        describe_method(tests, [found[0].pair.ours] if found else []),
        "Seeds: trainings of each side; – where a model draws nothing at random and is trained once.",
        *note_few_seeds(found),
    ]
    return Table(name, title, tuple(map(Column, heads)), tuple(rows), " ".join(caption), "Margins")


def _to_points(value: float | None) -> Entry:
    return None if value is None else Quantity(value, 1, signed=True)


def describe_method(tests: int, rows: Sequence[Summary]) -> str:
    """Say how intervals and p are made."""
    over = "documents"
    if rows:
        documents, units = rows[0].results[0].facts["documents"], len(rows[0].f1.units)
        grouped = f"{units:,} groups of " if units < documents else ""
        over = f"{grouped}{documents:,} {over}"
    by = f"by t on the variance over {over} and over seeds (docs/experiments.md)"
    if not tests:
        return f"Intervals (95 %) are {by}."
    counted = f"{tests} test{'s' if tests != 1 else ''}"
    return (
        f"Intervals (95 %) and p are {by}; p two-sided, Holm-adjusted for {counted}; * below {SIGNIFICANT}."
    )


def note_few_seeds(found: Sequence[Contrast]) -> list[str]:
    """Say what an interval covers where a model has few seeds."""
    if not any(one.chance is None for one in found):
        return []
    return [
        "With fewer than three seeds of a model that draws at random the interval is of these trained "
        "models, and there is no p."
    ]
