"""Plots for pages and for print, as SVG and as PNG: intervals, and series over several steps.

Lines differ in dash and marker as well, so that a print in grey can be read. A model looks the same in all.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from seq2set.config.catalog import METRICS, MODELS, Style
from seq2set.core.drawing import BLUE, GREY, ORANGE, apply_style, create_picture, render_svg
from seq2set.experiments.analysis.comparison import Summary
from seq2set.experiments.analysis.estimates import Spread
from seq2set.experiments.render.tables import Column, Row, Table, to_quantity


class Plot(NamedTuple):
    """A picture in two forms, with its caption."""

    name: str
    caption: str
    svg: str
    png: bytes


def draw_plot(
    name: str, caption: str, draw: Callable[[Axes], None], size: tuple[float, float] = (6.4, 3.6)
) -> Plot:
    """Draw on fresh axes and keep the picture in both forms."""
    with apply_style():
        picture = create_picture(size)
        draw(picture.axes)
        vector, raster = render_svg(picture.figure), io.BytesIO()
        picture.figure.savefig(raster, format="png", dpi=200, metadata={"Software": None})
    return Plot(name, caption, vector, raster.getvalue())


def plot_f1_intervals(caption: str, rows: Sequence[Summary], reference: Summary | None = None) -> Plot:
    """Draw a row per model: its micro-F1 as a point with its interval, and a small ring for each seed."""

    def draw(axes: Axes) -> None:
        for place, row in enumerate(rows):
            mean, values = row.metrics["micro_f1"].mean, [one.metrics["micro_f1"] for one in row.results]
            colour, marker = (ORANGE, "s") if row is reference else (BLUE, "o")
            axes.plot(row.interval, [place, place], color=colour, lw=2.2, solid_capstyle="round")
            axes.plot(mean, place, marker, color=colour, ms=7)
            if len(values) > 1:
                axes.plot(values, [place + 0.22] * len(values), "o", mfc="none", mec=GREY, ms=4)
            axes.annotate(
                f"{mean:.3f}", (mean, place), (0, 7), textcoords="offset points", ha="center", fontsize=9
            )
        if reference is not None:
            axes.axvline(reference.metrics["micro_f1"].mean, color=ORANGE, lw=0.8, ls="--", zorder=0)
        axes.set_yticks(range(len(rows)), [row.title for row in rows])
        axes.set(xlabel=METRICS["micro_f1"].title, ylim=(len(rows) - 0.4, -0.6))
        axes.margins(x=0.08)
        axes.tick_params(axis="y", length=0)

    return draw_plot("micro-f1", caption, draw, (6.4, 1.1 + 0.45 * len(rows)))


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


def follow_rows(steps: Sequence[Mapping[Any, Summary]], metric: str = "micro_f1") -> list[Line]:
    """Return a line per row: a metric at each step, None where the row was not measured."""
    found = []
    for key, row in {key: row for step in steps for key, row in step.items()}.items():
        points = [step[key].metrics[metric] if key in step else None for step in steps]
        found.append(Line(row.title, MODELS[row.model].style, points))
    return found


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
            if len(points) < len(line.points):
                continue
            colour, dash, marker = line.style
            means = np.array([point.mean for point in points])
            axes.plot(places, means, color=colour, ls=dash, marker=marker, ms=5, lw=1.6, label=line.title)
            if any(point.deviation is not None for point in points):
                spread = np.array([point.deviation or 0.0 for point in points])
                axes.fill_between(places, means - spread, means + spread, color=colour, alpha=0.14, lw=0)
        if zero:
            axes.axhline(0, color=GREY, lw=0.8, zorder=0)
        axes.set_xticks(places, series.ticks or series.heads)
        axes.set(xlabel=series.axis, ylabel=measure)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3.2)

    return draw_plot(name, caption, draw, (8.2, 4.0))


def note_shades(rows: Iterable[Summary]) -> str:
    """Return what a caption says of the shades around lines, where there are any."""
    return " Shades: the deviation over seeds." if has_several_seeds(rows) else ""


def has_several_seeds(rows: Iterable[Summary]) -> bool:
    """Say whether any row has more than one training."""
    return any(len(one.results) > 1 for one in rows)
