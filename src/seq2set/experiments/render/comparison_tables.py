"""A comparison as the paper's table, with what the paper leaves out beside it.

A comparison in sentences: who is best, and whether the difference to the best baseline is one.

The paper's own numbers beside ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from seq2set.config import validate
from seq2set.core.text_utils import join_groups, join_names
from seq2set.experiments.analysis.comparison import Compared, Comparison, Summary
from seq2set.experiments.analysis.margins import method
from seq2set.experiments.analysis.published import PublishedRow, PublishedTable
from seq2set.experiments.model_names import baselines, is_deterministic, title_of
from seq2set.experiments.render.plots import Bar, Plot, interval_plot
from seq2set.experiments.render.tables import Chance, Column, Entry, Quantity, Range, Row, Table, quantity

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
            f"{join_names(few)}: fewer than three seeds, so that the interval is of what was trained, not of "
            "the method, and there is no p."
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


def verdicts(comparison: Comparison) -> list[str]:
    """Say what came out, a sentence a finding."""
    top = max(comparison.summaries, key=lambda one: one.metrics["micro_f1"].mean)
    reached = quantity(top.metrics["micro_f1"]).text()
    interval = Range(top.interval).text()
    says = "has the highest micro-F1:" if len(comparison.summaries) > 1 else "reaches a micro-F1 of"
    found = [f"{title_of(top.row)} {says} {reached} (95 % interval {interval})."]
    if (reference := comparison.reference) is not None:
        value = reference.validation["micro_f1"].mean
        found.append(
            f"The best baseline on validation is {title_of(reference.row)} (micro-F1 {value:.3f} there)."
        )
        found += _beside(reference, comparison.compared)
    return found + _trained_once(comparison)


def _beside(reference: Summary, compared: Mapping[str, Compared]) -> list[str]:
    """Say which rows are better than another, which worse, and which neither; a table has the rest."""
    if len(compared) < 2:
        return [_verdict(row, reference, one) for row, one in compared.items()]
    tested = {row: one for row, one in compared.items() if one.chance is not None}
    untested = {row: one for row, one in compared.items() if one.chance is None}
    told = {
        "Significantly above it": _told(tested, 1),
        "significantly below it": _told(tested, -1),
        "not significantly different": _told(tested, 0),
        "not tested, with fewer than three seeds": _told(untested, 0),
    }
    return [join_groups(told)]


def _told(compared: Mapping[str, Compared], side: int) -> list[str]:
    differences = {row: one.difference.value for row, one in compared.items() if one.side == side}
    return [f"{title_of(row)} ({Quantity(value, signed=True).text()})" for row, value in differences.items()]


def _verdict(row: str, reference: Summary, compared: Compared) -> str:
    value, interval = compared.difference.value, compared.difference.interval
    side = "above" if value >= 0 else "below"
    lies = (
        f"{title_of(row)} lies {abs(value):.3f} {side} {title_of(reference.row)} "
        f"(95 % interval of the difference {Range(interval, signed=True).text()}"
    )
    if compared.chance is None:
        return f"{lies}); it is not tested, with fewer than three seeds."
    chance = Chance(compared.chance, False).text()
    judged = "a significant difference" if compared.significant else "not significant"
    return f"{lies}, p {chance if chance.startswith('<') else f'= {chance}'}), {judged}."


def _trained_once(comparison: Comparison) -> list[str]:
    """Say which rows draw nothing at random, where there are any."""
    settings = {one.row: validate(one.results[0].facts["config"]) for one in comparison.summaries}
    names = [title_of(row) for row, config in settings.items() if is_deterministic(config)]
    verb = "draws" if len(names) == 1 else "draw"
    return (
        [f"{join_names(names)} {verb} nothing at random: one training stands for every seed."]
        if names
        else []
    )


def published_table(published: PublishedTable) -> Table:
    """Return a table of the paper as it stands there."""
    models = list(published.rows)
    rows = [
        Row(title_of(model), _published_entries(published.rows[model]), model == _first_of_its_own(models))
        for model in models
    ]
    columns = tuple(column for column, _, _ in PAPER_COLUMNS)
    title = f"{published.name} of the paper: {published.title[0].lower()}{published.title[1:]}"
    return Table(f"paper-{published.name.lower().replace(' ', '-')}", title, columns, tuple(rows))


def side_by_side(comparison: Comparison, published: PublishedTable) -> Table:
    """Return each measure twice, ours and the paper's, for the rows whose model the paper has."""
    columns = [(column, Column(f"{column.name}, paper")) for column, _, _ in PAPER_COLUMNS]
    rows = [
        Row(title_of(one.row), _both(one, published.rows[one.model]), ruled)
        for one, ruled in zip(comparison.summaries, comparison.ruled, strict=True)
        if one.model in published.rows
    ]
    return Table(
        "beside",
        f"Ours beside {published.name} of the paper",
        tuple(chain.from_iterable(columns)),
        tuple(rows),
    )


def _first_of_its_own(models: list[str]) -> str | None:
    """Name the first model that is the paper's own, above which a line is drawn."""
    return next((model for model in models if model not in baselines()), None)


def _published_entries(row: PublishedRow) -> tuple[Entry, ...]:
    return tuple(Quantity(getattr(row, name), digits) for _, name, digits in PAPER_COLUMNS)


def _both(summary: Summary, row: PublishedRow) -> tuple[Entry, ...]:
    ours = [quantity(summary.metrics[name], digits) for _, name, digits in PAPER_COLUMNS]
    return tuple(chain.from_iterable(zip(ours, _published_entries(row), strict=True)))
