"""The style of all plots, and how they become the same bytes each time.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"

BARE_SVG: dict[str, Any] = {"Date": None, "Creator": None, "Format": None, "Type": None}
"""Metadata without a date, nor anything else that would differ from one drawing to the next."""

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "svg.fonttype": "none",
    "svg.hashsalt": "seq2set",
    "text.parse_math": False,
}


class Picture(NamedTuple):
    """A figure and its axes."""

    figure: Figure
    axes: Axes


@contextmanager
def apply_style(font_size: float = 10) -> Iterator[None]:
    """Draw what is drawn in the block in the style of this package."""
    with rc_context(_STYLE | {"font.size": font_size}), warnings.catch_warnings():
        # Labels in scripts that the font lacks are drawn as boxes, which is no reason to warn.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def create_picture(size: tuple[float, float], dpi: float = 100) -> Picture:
    """Create a figure with one pair of axes; `size` is its width and height in inches."""
    figure = Figure(figsize=size, layout="constrained", dpi=dpi)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return Picture(figure, axes)


def format_powers(axis: Axis) -> None:
    """Write the numbers of a logarithmic axis out; by themselves they are formulas, which we do not parse."""
    axis.set_major_formatter("{x:,.10g}")
    axis.set_minor_formatter(LogFormatter())


def render_svg(figure: Figure, *, transparent: bool = False) -> str:
    """Return a figure as SVG for a page, without the XML prologue."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=transparent, metadata=BARE_SVG)
    text = stream.getvalue()
    return text[text.index("<svg") :]
