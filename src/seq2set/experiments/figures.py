"""Plots for pages and for print: the same drawing as SVG and as PNG."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2set.experiments.statistics import Interval
from seq2set.reporting.plots import BLUE, GREY, ORANGE

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "seq2set",
    "text.parse_math": False,
}
_BARE: dict[str, Any] = {"Date": None, "Creator": None, "Format": None, "Type": None}


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
    with rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        draw(axes)
        vector, raster = io.StringIO(), io.BytesIO()
        figure.savefig(vector, format="svg", metadata=_BARE)
        figure.savefig(raster, format="png", dpi=200, metadata={"Software": None})
    text = vector.getvalue()
    return Plot(name, caption, text[text.index("<svg") :], raster.getvalue())


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
