"""A case as a picture, for papers and slides: the same as on the page, drawn without a browser.

Everything is measured in points. Texts flow from left to right and go on in the next line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

from seq2set.core.drawing import GREY, ORANGE, apply_style
from seq2set.experiments.render.plots import Plot, drawn
from seq2set.experiments.studies.cases import Case, Mark, case_html

WORDS = 150
"""Words of a text that a picture shows."""

_WIDTH, _NAMES, _LINE, _SIZE, _GAP, _PADDING = 648.0, 104.0, 19.0, 9.0, 6.0, 4.0


class Piece(NamedTuple):
    """A word or a chip, with its place; `y` is the middle of its line."""

    x: float
    y: float
    width: float
    text: str
    mark: Mark | None = None


def case_plot(case: Case, caption: str) -> Plot:
    """Draw a case; the page shows it as HTML."""
    with apply_style():
        pieces = list(_pieces(case))
        height = max(piece.y for piece in pieces) + 0.7 * _LINE

        def draw(axes: Axes) -> None:
            # Letters become outlines: a browser's other font would not fit into the boxes.
            matplotlib.rcParams["svg.fonttype"] = "path"
            axes.set_axis_off()
            axes.set(xlim=(0, _WIDTH), ylim=(height, 0))
            for piece in pieces:
                _draw(axes, piece)

        plot = drawn(case.name, caption, draw, (_WIDTH / 72, height / 72))
    return plot._replace(page=case_html(case))


def _pieces(case: Case) -> Iterator[Piece]:
    y = _LINE / 2
    for words in ([f"Case {case.number}: {case.id}"], _words(case.text)):
        row = list(_flow(words, [_width(word) for word in words], 0.0, y, gap=_GAP / 2, line=_LINE * 0.75))
        yield from row
        y = max((piece.y for piece in row), default=y - _LINE) + _LINE
    for name, marks in case.lines():
        yield Piece(0.0, y, 0.0, name)
        texts = [mark.text() for mark in marks] or ["no label"]
        widths = [_width(text) + 2 * _PADDING for text in texts]
        row = [
            piece._replace(mark=marks[place]) if marks else piece
            for place, piece in enumerate(_flow(texts, widths, _NAMES, y, gap=_GAP, line=_LINE))
        ]
        yield from row
        y = row[-1].y + _LINE


def _words(text: str | None) -> list[str]:
    words = (text or "").split()
    return words if len(words) <= WORDS else [*words[:WORDS], "…"]


def _flow(
    texts: Sequence[str], widths: Sequence[float], left: float, y: float, *, gap: float, line: float
) -> Iterator[Piece]:
    x = left
    for text, width in zip(texts, widths, strict=True):
        if x > left and x + width > _WIDTH:
            x, y = left, y + line
        yield Piece(x, y, width, text)
        x += width + gap


def _width(text: str) -> float:
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=_SIZE), ismath=False)
    return float(width)


def _draw(axes: Axes, piece: Piece) -> None:
    if piece.mark is None:
        axes.text(piece.x, piece.y, piece.text, fontsize=_SIZE, va="center")
        return
    style = {"wrong": (ORANGE, "-", 1.4), "missed": (GREY, "--", 1.0)}.get(piece.mark.kind, (GREY, "-", 0.5))
    colour, dash, thickness = style
    axes.add_patch(
        FancyBboxPatch(
            (piece.x + 2, piece.y - _LINE / 2 + 3),
            piece.width - 4,
            _LINE - 6,
            boxstyle="round,pad=1.5",
            facecolor=piece.mark.colour or "white",
            edgecolor=colour,
            ls=dash,
            lw=thickness,
        )
    )
    missed = piece.mark.kind == "missed"
    middle = piece.x + piece.width / 2
    axes.text(
        middle,
        piece.y,
        piece.text,
        fontsize=_SIZE,
        ha="center",
        va="center",
        color=GREY if missed else "black",
    )
