"""Models and margins on what is left when the most frequent labels are gone, as tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seq2set.config.catalog import MODELS
from seq2set.experiments.analysis.comparison import Summary
from seq2set.experiments.analysis.estimates import Spread
from seq2set.experiments.analysis.margins import Margin, ModelPair
from seq2set.experiments.render.comparison_tables import describe_method, note_few_seeds
from seq2set.experiments.render.plots import (
    Line,
    Plot,
    Series,
    follow_rows,
    has_several_seeds,
    make_series_table,
    note_shades,
    plot_series,
)
from seq2set.experiments.render.tables import Column, Entry, Quantity, Range, Row, Table


@dataclass(frozen=True)
class RemovalStep:
    """The models on what is left when some labels are gone."""

    removed: int
    labels: int
    """How many labels are left"""
    occurrences: int
    """How often they stand in the documents that were measured"""
    documents: int
    """How many documents were measured"""
    summaries: dict[str, Summary]
    """By model"""
    margins: dict[ModelPair, Margin]
    """Of the paper's own models over the paper's rivals and the best baseline of all"""


def list_margins(steps: Sequence[RemovalStep]) -> list[ModelPair]:
    """Return the pairs whose margins are known at every step."""
    return [pair for pair in steps[0].margins if all(pair in one.margins for one in steps)]


def spread_margin(step: RemovalStep, pair: ModelPair) -> Spread:
    """Return a margin in points, with what the seeds of both rows make it waver by."""
    deviations = [step.summaries[model].metrics["micro_f1"].deviation for model in pair]
    known = [100 * one for one in deviations if one is not None]
    # The seeds of two models have nothing to do with each other, so their variances add up.
    return Spread(step.margins[pair].points, sum(one**2 for one in known) ** 0.5 if known else None)


def make_removal_tables(name: str, title: str, steps: Sequence[RemovalStep]) -> tuple[Table, ...]:
    """Return the models at each step, their margins where there are any, and what is left to measure."""
    deviation = "; mean ± deviation over seeds" if has_several_seeds(steps[0].summaries.values()) else ""
    caption = f"Columns: how many of the most frequent labels are left out{deviation}."
    f1 = make_series_table(f"{name}-f1", title, _make_series(steps), caption)
    margins = [_make_margin_table(f"{name}-leads", steps)] if list_margins(steps) else []
    return (f1, *margins, _make_contents_table(f"{name}-labels", steps))


def _make_margin_table(name: str, steps: Sequence[RemovalStep]) -> Table:
    """Return two rows per margin, its points of micro-F1 and their interval, and a column per step."""
    rows: list[Row] = []
    for pair in list_margins(steps):
        found = [one.margins[pair] for one in steps]
        points: list[Entry] = [Quantity(one.points, 1, signed=True) for one in found]
        intervals: list[Entry] = [Range(one.interval, 1, signed=True) for one in found]
        rows += [Row(found[0].title, tuple(points), ruled=bool(rows)), Row("95 % of it", tuple(intervals))]
    caption = [
        describe_method(0, list(steps[0].summaries.values())),
        *note_few_seeds([margin for one in steps for margin in one.margins.values()]),
    ]
    title, columns = "The margins, in points of micro-F1", tuple(map(Column, _list_heads(steps)))
    return Table(name, title, columns, tuple(rows), " ".join(caption), "Margins", row_key="leads")


def _make_contents_table(name: str, steps: Sequence[RemovalStep]) -> Table:
    columns = map(Column, ("labels left", "occurrences", "share", "documents"))
    whole = max(steps[0].occurrences, 1)
    rows = []
    for one in steps:
        left, share = Quantity(one.occurrences, 0), Quantity(one.occurrences / whole)
        rows.append(
            Row(f"{one.removed} left out", (str(one.labels), left, share, Quantity(one.documents, 0)))
        )
    return Table(name, "What is left to measure", tuple(columns), tuple(rows), rows_are="Steps")


def plot_removal(name: str, steps: Sequence[RemovalStep]) -> tuple[Plot, ...]:
    """Draw the paper's two figures: each model's micro-F1, and the margins where there are any."""
    shades = note_shades(steps[0].summaries.values())
    caption = f"Micro-F1 on the labels that are left.{shades}"
    f1 = plot_series(f"{name}-f1", caption, _make_series(steps))
    lines = []
    for pair in list_margins(steps):
        # The colour of the model, with the dash and the marker of its rival.
        style = MODELS[pair.other].style._replace(colour=MODELS[pair.one].style.colour)
        points = [spread_margin(one, pair) for one in steps]
        lines.append(Line(steps[0].margins[pair].title, style, points))
    if not lines:
        return (f1,)
    caption = f"The margins on the labels that are left, in points of micro-F1.{shades}"
    series = _make_series(steps, lines)
    return (f1, plot_series(f"{name}-leads", caption, series, margins=True))


def _make_series(steps: Sequence[RemovalStep], lines: Sequence[Line] = ()) -> Series:
    """Return lines over the steps: unless given, the micro-F1 of each model."""
    lines = lines or follow_rows([one.summaries for one in steps])
    removed = [one.removed for one in steps]
    ticks = [str(one) for one in removed]
    return Series(lines, "most frequent labels left out", _list_heads(steps), ticks, removed)


def _list_heads(steps: Sequence[RemovalStep]) -> list[str]:
    return [f"−{one.removed}" if one.removed else "all" for one in steps]
