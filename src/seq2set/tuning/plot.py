"""The picture of a study: the value of every trial with the best so far, and a slice a setting.

Marks differ in shape, not in colour alone.
"""

from __future__ import annotations

import math
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from seq2set.drawing import BARE_SVG, BLUE, GREY, ORANGE, our_style, plain_powers
from seq2set.files import written_aside
from seq2set.metrics import is_better
from seq2set.tuning.parameters import Choice, Integers, Parameter
from seq2set.tuning.rows import TrialRow, shown

COLUMNS = 3
WIDTH, ROW_HEIGHT = 9.0, 2.7


class Limits(NamedTuple):
    """Between which values pictures are drawn: those of trials that came to their end, with some room."""

    low: float
    high: float

    def inside(self, value: float) -> float:
        """Move a value to the edge where it lies outside."""
        return min(max(value, self.low), self.high)


def draw_study(rows: list[TrialRow], parameters: tuple[Parameter, ...], metric: str, folder: Path) -> None:
    """Draw `study.png` and `study.svg` into the folder."""
    lines = math.ceil(len(parameters) / COLUMNS)
    limits = _limits(rows)
    with our_style(font_size=9):
        figure = Figure(figsize=(WIDTH, ROW_HEIGHT * (lines + 1.2)), layout="constrained", dpi=120)
        grid = figure.add_gridspec(lines + 1, COLUMNS, height_ratios=[1.2] + [1.0] * lines)
        _history(figure.add_subplot(grid[0, :]), rows, metric, limits)
        for place, one in enumerate(parameters):
            axes = figure.add_subplot(grid[1 + place // COLUMNS, place % COLUMNS])
            axes.set_ylabel("" if place % COLUMNS else metric)
            _slice(axes, rows, one, limits)
        _save(figure, folder / "study.png")
        figure.set_layout_engine("none")  # it stays as it was laid out
        _save(figure, folder / "study.svg")


def _save(figure: Figure, path: Path) -> None:
    with written_aside(path) as aside:
        metadata = BARE_SVG if path.suffix == ".svg" else None  # the same study, the same file
        figure.savefig(aside, format=path.suffix[1:], metadata=metadata)


def _limits(rows: list[TrialRow]) -> Limits:
    values = [row.score for row in _of(rows, "complete")]
    room = 0.1 * (max(values) - min(values)) or 0.01
    return Limits(min(values) - room, max(values) + room)


def _history(axes: Axes, rows: list[TrialRow], metric: str, limits: Limits) -> None:
    _marks(axes, rows, [row.number for row in rows], limits)
    done = _of(rows, "complete")
    best = list(accumulate((row.score for row in done), min if is_better(0.0, 1.0, metric) else max))
    numbers = [*(row.number for row in done), rows[-1].number]
    axes.step(numbers, [*best, best[-1]], where="post", color=ORANGE, label=f"best so far: {best[-1]:.4f}")
    axes.set(xlabel="trial", ylabel=f"validation {metric}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _slice(axes: Axes, rows: list[TrialRow], one: Parameter, limits: Limits) -> None:
    """Draw the values of the trials against one setting."""
    values = [row.settings[one.name] for row in rows]
    if isinstance(one, Choice):
        names = [shown(value) for value in one.values]
        values = [names.index(shown(value)) for value in values]
        axes.set_xticks(range(len(names)), names)
        axes.set_xlim(-0.5, len(names) - 0.5)
    else:
        if one.log:
            axes.set_xscale("log")
            plain_powers(axes.xaxis)
        elif isinstance(one, Integers):
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    _marks(axes, rows, values, limits)
    axes.set_xlabel(one.name)


def _marks(axes: Axes, rows: list[TrialRow], places: list[Any], limits: Limits) -> None:
    """Draw a mark a trial; one that was given up far below the others stands at the edge."""
    kinds = (("complete", "o", BLUE, "a trial's value"), ("pruned", "x", GREY, "given up: its last look"))
    for state, mark, colour, label in kinds:
        points = [
            (place, limits.inside(row.score))
            for place, row in zip(places, rows, strict=True)
            if row.state == state and row.value is not None
        ]
        if points:
            axes.plot(*zip(*points, strict=True), mark, color=colour, alpha=0.8, label=label, clip_on=False)
    axes.set_ylim(limits.low, limits.high)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)


def _of(rows: list[TrialRow], state: str) -> list[TrialRow]:
    return [row for row in rows if row.state == state]
