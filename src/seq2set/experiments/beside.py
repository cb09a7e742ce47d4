"""The paper's own numbers beside ours."""

from __future__ import annotations

from itertools import chain

from seq2set.experiments.comparison import Comparison
from seq2set.experiments.comparison_tables import PAPER_COLUMNS
from seq2set.experiments.lineup import BASELINES, title_of
from seq2set.experiments.published import PublishedRow, PublishedTable
from seq2set.experiments.summaries import Summary
from seq2set.experiments.tables import Column, Entry, Quantity, Row, Table, quantity


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
    return next((model for model in models if model not in BASELINES), None)


def _published_entries(row: PublishedRow) -> tuple[Entry, ...]:
    return tuple(Quantity(getattr(row, name), digits) for _, name, digits in PAPER_COLUMNS)


def _both(summary: Summary, row: PublishedRow) -> tuple[Entry, ...]:
    ours = [quantity(summary.metrics[name], digits) for _, name, digits in PAPER_COLUMNS]
    return tuple(chain.from_iterable(zip(ours, _published_entries(row), strict=True)))
