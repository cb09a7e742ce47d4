"""A comparison as the paper's table, with what the paper leaves out beside it."""

from __future__ import annotations

from seq2set.experiments.comparison import Comparison
from seq2set.experiments.figures import Bar, Plot, interval_plot
from seq2set.experiments.lineup import title_of
from seq2set.experiments.margins import method
from seq2set.experiments.summaries import Summary
from seq2set.experiments.tables import Chance, Column, Entry, Quantity, Range, Row, Table, quantity
from seq2set.experiments.wording import listed

PAPER_COLUMNS = (
    (Column("HL", "lower"), "hamming_loss", 4),
    (Column("P", "higher"), "micro_precision", 3),
    (Column("R", "higher"), "micro_recall", 3),
    (Column("F1", "higher"), "micro_f1", 3),
)
"""The columns of the paper's tables, with their digits there."""

OTHER_COLUMNS = (
    (Column("macro-F1", "higher"), "macro_f1", 3),
    (Column("example F1", "higher"), "example_f1", 3),
    (Column("subset accuracy", "higher"), "subset_accuracy", 3),
)
"""Measures that the paper does not have."""

_SYMBOLS = (
    "HL, P, R and F1 denote hamming loss, micro-precision, micro-recall and micro-F1; "
    "(+): the higher the better, (-): the lower the better."
)


def paper_table(comparison: Comparison) -> Table:
    """Return the paper's table, with intervals and differences beside it."""
    extra = [Column("F1, 95 %")]
    if comparison.compared and comparison.reference is not None:
        over = f"over {title_of(comparison.reference.row)}"
        extra += [Column(over), Column("95 % of it")]
        extra += [Column("p")] if _tests(comparison) else []
    facts = comparison.summaries[0].results[0].facts
    rows = [
        Row(title_of(one.row), (*_paper_entries(one), *_extra_entries(comparison, one, len(extra))), ruled)
        for one, ruled in zip(comparison.summaries, comparison.ruled, strict=True)
    ]
    return Table(
        "results",
        f"Performance on the {facts['split']} split of {facts['corpus']['name']}",
        (*(column for column, _, _ in PAPER_COLUMNS), *extra),
        tuple(rows),
        _caption(comparison),
    )


def _paper_entries(summary: Summary) -> list[Entry]:
    return [quantity(summary.metrics[name], digits) for _, name, digits in PAPER_COLUMNS]


def _extra_entries(comparison: Comparison, summary: Summary, columns: int) -> list[Entry]:
    entries: list[Entry] = [Range(summary.interval)]
    if (one := comparison.compared.get(summary.row)) is not None:
        entries.append(Quantity(one.difference.value, signed=True))
        entries.append(Range(one.difference.interval, signed=True))
        if one.chance is not None:
            entries.append(Chance(one.chance, one.significant))
    return entries + [None] * (columns - len(entries))


def _caption(comparison: Comparison) -> str:
    parts = [_SYMBOLS]
    most = max((one.results for one in comparison.summaries), key=len)
    if len(most) > 1:
        seeds = ", ".join(str(result.facts["seed"]) for result in most)
        parts.append(f"Mean ± deviation over the seeds {seeds}.")
    parts.append(method(_tests(comparison), comparison.summaries))
    if few := [title_of(one.row) for one in comparison.summaries if one.few]:
        parts.append(
            f"{listed(few)}: fewer than three seeds, so that the interval is of what was trained, not of the "
            "method, and there is no p."
        )
    return " ".join(parts)


def _tests(comparison: Comparison) -> int:
    return sum(one.chance is not None for one in comparison.compared.values())


def cost_table(comparison: Comparison) -> Table:
    """Return the measures that the paper does not have, and what the models cost."""
    columns = (
        *(column for column, _, _ in OTHER_COLUMNS),
        Column("validation F1", "higher"),
        Column("trainings"),
        Column("train minutes", "lower"),
        Column("documents/s", "higher"),
    )
    rows = [
        Row(title_of(one.row), _cost_entries(one), ruled)
        for one, ruled in zip(comparison.summaries, comparison.ruled, strict=True)
    ]
    caption = "Minutes are those of one training; documents per second are those of prediction."
    return Table("cost", "Other measures, and cost", columns, tuple(rows), caption)


def _cost_entries(summary: Summary) -> tuple[Entry, ...]:
    return (
        *(quantity(summary.metrics[name], digits) for _, name, digits in OTHER_COLUMNS),
        quantity(summary.validation["micro_f1"]),
        str(len(summary.results)),
        quantity(summary.minutes, 1),
        quantity(summary.speed, 0),
    )


def f1_plot(comparison: Comparison) -> Plot:
    """Draw the micro-F1 of each row with its interval."""
    bars = {one.row: _bar(one) for one in comparison.summaries}
    marked = bars[comparison.reference.row] if comparison.reference is not None else None
    rings = any(len(bar.values) > 1 for bar in bars.values())
    sentences = [f"Micro-F1 with its 95 % interval{'; a ring for each seed' if rings else ''}."]
    if marked is not None:
        sentences.append(
            f"The square and the dashed line are {marked.name}, the best baseline on validation."
        )
    return interval_plot("micro-f1", " ".join(sentences), list(bars.values()), "micro-F1", marked)


def _bar(summary: Summary) -> Bar:
    values = [result.metrics["micro_f1"] for result in summary.results]
    name = title_of(summary.row)
    return Bar(name, summary.metrics["micro_f1"].mean, summary.interval, values)
