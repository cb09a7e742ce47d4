"""Plots for pages and for print: the same drawing as SVG and as PNG.

Curves: a line a model over what was varied, with a band for what the seed changes.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart; lines differ in dash
and marker as well, so that a print in grey can be read. A model looks the same in every plot.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from seq2set.core.drawing import BLUE, GREEN, GREY, ORANGE, apply_style, create_picture, render_svg
from seq2set.experiments.analysis.statistics import Interval, Spread


class Plot(NamedTuple):
    """A picture in two forms, with its caption."""

    name: str
    caption: str
    svg: str
    png: bytes
    page: str = ""
    """What a page shows in the place of the picture, as HTML, where that reads better"""


def drawn(
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


def interval_plot(
    name: str, caption: str, bars: Sequence[Bar], measure: str, reference: Bar | None = None
) -> Plot:
    """Draw a row a model: a point with its interval, and a small ring for each seed."""

    def draw(axes: Axes) -> None:
        for place, bar in enumerate(bars):
            colour = ORANGE if bar is reference else BLUE
            axes.plot(bar.interval, [place, place], color=colour, lw=2.2, solid_capstyle="round")
            axes.plot(bar.mean, place, "s" if bar is reference else "o", color=colour, ms=7)
            if len(bar.values) > 1:
                axes.plot(bar.values, [place + 0.22] * len(bar.values), "o", mfc="none", mec=GREY, ms=4)
            axes.annotate(
                f"{bar.mean:.3f}",
                (bar.mean, place),
                (0, 7),
                textcoords="offset points",
                ha="center",
                fontsize=9,
            )
        if reference is not None:
            axes.axvline(reference.mean, color=ORANGE, lw=0.8, ls="--", zorder=0)
        axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
        axes.set(xlabel=measure, ylim=(len(bars) - 0.4, -0.6))
        axes.margins(x=0.08)
        axes.tick_params(axis="y", length=0)

    return drawn(name, caption, draw, (6.4, 1.1 + 0.45 * len(bars)))


BLACK, AMBER, SKY, ROSE = "#000000", "#E69F00", "#56B4E9", "#CC79A7"


class Style(NamedTuple):
    """How a line looks."""

    colour: str
    dash: str
    marker: str


STYLES = {
    "br": Style(GREEN, "--", "D"),
    "cc": Style(AMBER, ":", "v"),
    "lp": Style(SKY, ":", "<"),
    "cnn": Style(ROSE, "-.", "P"),
    "cnn-rnn": Style(GREY, "-.", "X"),
    "seq2seq": Style(BLACK, "--", "^"),
    "seq2set-simp": Style(BLUE, "-", "s"),
    "seq2set": Style(ORANGE, "-", "o"),
}
"""The look of each model; the paper's own are the solid lines."""

UNKNOWN = Style(GREY, ":", ".")
"""The look of everything else."""


class Curve(NamedTuple):
    """A line: a mean for each place, with a deviation where several seeds were trained."""

    name: str
    points: Sequence[Spread]
    style: Style


class Axis(NamedTuple):
    """What was varied: its places, and what stands below them."""

    label: str
    places: Sequence[float]
    ticks: Sequence[str] | None = None


def curve_plot(
    name: str, caption: str, curves: Sequence[Curve], axis: Axis, measure: str, *, zero: bool = False
) -> Plot:
    """Draw the curves side by side, with a line at zero where a sign matters."""

    def draw(axes: Axes) -> None:
        for curve in curves:
            _draw_curve(axes, axis.places, curve)
        if zero:
            axes.axhline(0, color=GREY, lw=0.8, zorder=0)
        axes.set_xticks(axis.places, axis.ticks or [f"{place:g}" for place in axis.places])
        axes.set(xlabel=axis.label, ylabel=measure)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3.2)

    return drawn(name, caption, draw, (8.2, 4.0))


def _draw_curve(axes: Axes, places: Sequence[float], curve: Curve) -> None:
    colour, dash, marker = curve.style
    means = np.array([point.mean for point in curve.points])
    axes.plot(places, means, color=colour, ls=dash, marker=marker, ms=5, lw=1.6, label=curve.name)
    if any(point.deviation is not None for point in curve.points):
        spread = np.array([point.deviation or 0.0 for point in curve.points])
        axes.fill_between(places, means - spread, means + spread, color=colour, alpha=0.14, lw=0)
