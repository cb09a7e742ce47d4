"""Plots for pages and for print: the same drawing as SVG and as PNG."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from seq2set.core.drawing import BLUE, GREY, ORANGE, apply_style, create_picture, render_svg
from seq2set.experiments.analysis.estimates import Interval


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


class Bar(NamedTuple):
    """A row of an interval plot: the mean, its interval, and the single values that the mean is of."""

    name: str
    mean: float
    interval: Interval
    values: Sequence[float]


def plot_intervals(
    name: str, caption: str, bars: Sequence[Bar], measure: str, reference: Bar | None = None
) -> Plot:
    """Draw a row per model: a point with its interval, and a small ring for each seed."""

    def draw(axes: Axes) -> None:
        for place, bar in enumerate(bars):
            _draw_bar(axes, place, bar, is_reference=bar is reference)
        if reference is not None:
            axes.axvline(reference.mean, color=ORANGE, lw=0.8, ls="--", zorder=0)
        axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
        axes.set(xlabel=measure, ylim=(len(bars) - 0.4, -0.6))
        axes.margins(x=0.08)
        axes.tick_params(axis="y", length=0)

    return draw_plot(name, caption, draw, (6.4, 1.1 + 0.45 * len(bars)))


def _draw_bar(axes: Axes, place: int, bar: Bar, *, is_reference: bool) -> None:
    colour, marker = (ORANGE, "s") if is_reference else (BLUE, "o")
    axes.plot(bar.interval, [place, place], color=colour, lw=2.2, solid_capstyle="round")
    axes.plot(bar.mean, place, marker, color=colour, ms=7)
    if len(bar.values) > 1:
        axes.plot(bar.values, [place + 0.22] * len(bar.values), "o", mfc="none", mec=GREY, ms=4)
    middle = (bar.mean, place)
    axes.annotate(f"{bar.mean:.3f}", middle, (0, 7), textcoords="offset points", ha="center", fontsize=9)
