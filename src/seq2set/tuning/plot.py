"""The plot of a study: the value of every trial with the best so far, and one slice per setting.

Not optuna's own plots: those leave pruned trials out, squeeze all settings into one row, and set the style of
pyplot for the whole process. Marks differ in shape, not in colour alone.
"""

from __future__ import annotations

import math
from itertools import accumulate
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from seq2set.config.catalog import METRICS
from seq2set.core.drawing import BARE_SVG, BLUE, GREY, ORANGE, apply_style, format_powers
from seq2set.core.files import write_aside
from seq2set.tuning.space import Parameter
from seq2set.tuning.study import TrialRow, format_value

COLUMNS = 3
WIDTH, ROW_HEIGHT = 9.0, 2.7

Limits = tuple[float, float]
"""The values that are shown: those of complete trials, with some room."""


def draw_study(rows: list[TrialRow], parameters: tuple[Parameter, ...], metric: str, folder: Path) -> None:
    """Draw `study.png` and `study.svg` into the folder."""
    lines = math.ceil(len(parameters) / COLUMNS)
    done = [row for row in rows if row.state == "complete"]
    values = [row.score for row in done]
    room = 0.1 * (max(values) - min(values)) or 0.01
    limits = min(values) - room, max(values) + room
    with apply_style(font_size=9):
        figure = Figure(figsize=(WIDTH, ROW_HEIGHT * (lines + 1.2)), layout="constrained", dpi=120)
        grid = figure.add_gridspec(lines + 1, COLUMNS, height_ratios=[1.2] + [1.0] * lines)
        axes = figure.add_subplot(grid[0, :])
        _draw_marks(axes, rows, [row.number for row in rows], limits)
        _draw_best(axes, done, rows[-1].number, metric)
        for place, one in enumerate(parameters):
            axes = figure.add_subplot(grid[1 + place // COLUMNS, place % COLUMNS])
            axes.set_ylabel("" if place % COLUMNS else metric)
            _draw_slice(axes, rows, one, limits)
        _save(figure, folder / "study.png")
        figure.set_layout_engine("none")  # keep the layout
        _save(figure, folder / "study.svg")


def _save(figure: Figure, path: Path) -> None:
    with write_aside(path) as aside:
        metadata = BARE_SVG if path.suffix == ".svg" else None  # the same study, the same file
        figure.savefig(aside, format=path.suffix[1:], metadata=metadata)


def _draw_best(axes: Axes, done: list[TrialRow], last: int, metric: str) -> None:
    best = list(accumulate((row.score for row in done), min if METRICS[metric].better == "lower" else max))
    numbers = [*(row.number for row in done), last]
    axes.step(numbers, [*best, best[-1]], where="post", color=ORANGE, label=f"best so far: {best[-1]:.4f}")
    axes.set(xlabel="trial", ylabel=f"validation {metric}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _draw_slice(axes: Axes, rows: list[TrialRow], one: Parameter, limits: Limits) -> None:
    values = [row.settings[one.name] for row in rows]
    if isinstance(one.distribution, CategoricalDistribution):
        names = [format_value(value) for value in one.choices]
        values = [names.index(format_value(value)) for value in values]
        axes.set_xticks(range(len(names)), names)
        axes.set_xlim(-0.5, len(names) - 0.5)
    else:
        assert isinstance(one.distribution, FloatDistribution | IntDistribution)
        if one.distribution.log:
            axes.set_xscale("log")
            format_powers(axes.xaxis)
        elif isinstance(one.distribution, IntDistribution):
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    _draw_marks(axes, rows, values, limits)
    axes.set_xlabel(one.name)


def _draw_marks(axes: Axes, rows: list[TrialRow], places: list[Any], limits: Limits) -> None:
    """Draw one mark per trial; one that was pruned far below the others stands at the edge."""
    kinds = (("complete", "o", BLUE, "a trial's value"), ("pruned", "x", GREY, "pruned: its last score"))
    for state, mark, colour, label in kinds:
        points = [
            (place, min(max(row.score, limits[0]), limits[1]))
            for place, row in zip(places, rows, strict=True)
            if row.state == state and row.value is not None
        ]
        if points:
            axes.plot(*zip(*points, strict=True), mark, color=colour, alpha=0.8, label=label, clip_on=False)
    axes.set_ylim(*limits)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
