"""Series: models, or margins, measured at several steps, as a table and as curves.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart; lines differ in dash
and marker as well, so that a print in grey can be read. A model looks the same in every plot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from seq2set.config.catalog import Style
from seq2set.core.drawing import GREY
from seq2set.experiments.analysis.comparison import Summary
from seq2set.experiments.analysis.estimates import Spread
from seq2set.experiments.render.plots import Plot, draw_plot
from seq2set.experiments.render.tables import Column, Row, Table, to_quantity


class Line(NamedTuple):
    """What is followed: a mean at each step, with a deviation where several seeds were trained."""

    title: str
    style: Style
    points: Sequence[Spread | None]
    """None at a step where nothing was measured"""


@dataclass(frozen=True)
class Series:
    """Lines over the same steps."""

    lines: Sequence[Line]
    axis: str
    """What changes from step to step"""
    heads: Sequence[str]
    """The steps as the heads of a table's columns"""
    ticks: Sequence[str] = ()
    """The steps below a plot, where their heads would not do"""
    places: Sequence[float] = ()
    """Where the steps stand on the axis; unless given, side by side"""


def make_series_table(name: str, title: str, series: Series, caption: str) -> Table:
    """Return a row per line and a column per step."""
    rows = [
        Row(line.title, tuple(None if one is None else to_quantity(one) for one in line.points))
        for line in series.lines
    ]
    columns = tuple(Column(head, "higher") for head in series.heads)
    return Table(name, title, columns, tuple(rows), caption)


def plot_series(name: str, caption: str, series: Series, measure: str, *, zero: bool = False) -> Plot:
    """Draw the lines that are whole, with a line at zero where a sign matters."""
    places = series.places or range(len(series.heads))

    def draw(axes: Axes) -> None:
        for line in series.lines:
            points = [one for one in line.points if one is not None]
            if len(points) == len(line.points):
                _draw_line(axes, places, line, points)
        if zero:
            axes.axhline(0, color=GREY, lw=0.8, zorder=0)
        axes.set_xticks(places, series.ticks or series.heads)
        axes.set(xlabel=series.axis, ylabel=measure)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3.2)

    return draw_plot(name, caption, draw, (8.2, 4.0))


def _draw_line(axes: Axes, places: Sequence[float], line: Line, points: Sequence[Spread]) -> None:
    colour, dash, marker = line.style
    means = np.array([point.mean for point in points])
    axes.plot(places, means, color=colour, ls=dash, marker=marker, ms=5, lw=1.6, label=line.title)
    if any(point.deviation is not None for point in points):
        spread = np.array([point.deviation or 0.0 for point in points])
        axes.fill_between(places, means - spread, means + spread, color=colour, alpha=0.14, lw=0)


def note_shades(rows: Iterable[Summary]) -> str:
    """Return what a caption says of the shades around lines, where there are any."""
    return " Shades: the deviation over seeds." if has_several_seeds(rows) else ""


def has_several_seeds(rows: Iterable[Summary]) -> bool:
    """Say whether any row has more than one training."""
    return any(len(one.results) > 1 for one in rows)
