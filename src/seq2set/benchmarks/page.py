"""All benchmarks as one page with plots: `seq2set bench all`.

The folder holds `index.html`, which needs no other file, and `results.json` with all that was measured.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2set.benchmarks import BENCHMARKS, RATIOS, run_benchmark
from seq2set.benchmarks.ratio import Ratio, format_values, list_checks
from seq2set.core.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    apply_style,
    create_picture,
    format_powers,
    render_svg,
)
from seq2set.core.errors import Seq2SetError
from seq2set.core.files import write_json, write_text
from seq2set.core.hardware import describe_machine
from seq2set.core.progress import Progress
from seq2set.evaluation.page import render_page

PAGE = "index.html"
_COLOURS = {"documents": BLUE, "words": ORANGE, "labels": GREEN}
_DASHES = {"predict": "-", "train": "--"}


class AllResults(NamedTuple):
    """All ratios, and why others could not be measured."""

    ratios: list[Ratio]
    missing: dict[str, str]
    machine: dict[str, Any]
    minutes: dict[str, float]
    """How long each took by the clock"""

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `bench all --json` prints."""
        return {
            "machine": self.machine,
            "benchmarks": [one.to_dict() for one in self.ratios],
            "minutes": self.minutes,
            "not_measured": self.missing,
        }


def run_all(
    progress: Progress,
    folder: Path,
    *,
    model: Path | None = None,
    quick: bool = False,
    minutes: float = float("inf"),
) -> AllResults:
    """Run every benchmark that is a ratio, one after the other; what cannot be measured is named.

    None begins later than `minutes` after the first. Whatever ends the work, what was measured is written.
    """
    found = AllResults([], {}, describe_machine(1), {})
    end = time.monotonic() + 60 * minutes
    try:
        with progress.stage("benchmarks", len(RATIOS)) as advance:
            for name in RATIOS:
                advance(0, name)
                if time.monotonic() > end:
                    found.missing[name] = f"{minutes:g} minutes (--minutes) were over"
                else:
                    _run_one(name, found, progress, model=model, quick=quick)
                advance(1)
    finally:
        if found.ratios:
            write_page(found, folder)
    return found


def _run_one(name: str, found: AllResults, progress: Progress, **how: Any) -> None:
    began = time.monotonic()
    try:
        found.ratios.append(run_benchmark(name, **how))
        found.minutes[name] = round((time.monotonic() - began) / 60, 2)
    except Seq2SetError as error:
        found.missing[name] = str(error)
        progress.note(f"{name} is not measured: {error}")


def write_page(found: AllResults, folder: Path) -> Path:
    """Write the page and the numbers, and return the page's path."""
    plots = [draw_ratios(found.ratios)]
    plots += [draw_scaling(one) for one in found.ratios if one.name == "scaling"]
    rows = [
        (one, BENCHMARKS[one.name].summary, format_values(one.shapes), list_checks(one.checks or {}))
        for one in found.ratios
    ]
    page = render_page(
        "benchmarks.html.j2",
        package="seq2set.benchmarks",
        title="Benchmarks",
        machine=format_values(found.machine),
        plots=plots,
        rows=rows,
        missing=found.missing,
    )
    write_json(folder / "results.json", found.to_dict())
    write_text(folder / PAGE, page)
    return folder / PAGE


def draw_ratios(ratios: list[Ratio]) -> str:
    """Draw all ratios as bars on a logarithmic axis, which begin at 1: as fast as the opponent."""
    with apply_style():
        figure, axes = create_picture((7.2, 0.8 + 0.32 * len(ratios)))
        for place, one in enumerate(ratios):
            colour = BLUE if one.ratio >= 1 else ORANGE
            axes.barh(place, one.ratio - 1, left=1, color=colour, height=0.6)
            axes.annotate(f" {one.ratio:,.2f}", (max(one.ratio, 1), place), va="center", fontsize=9)
        axes.axvline(1, color=GREY, lw=0.8)
        axes.set_xscale("log")
        format_powers(axes.xaxis)
        axes.set_yticks(range(len(ratios)), [one.name for one in ratios])
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlabel("times as fast, or as small, as the opponent")
        return render_svg(figure)


def draw_scaling(result: Ratio) -> str:
    """Draw seconds over sizes, both on logarithmic axes, with the fitted exponents in the legend."""
    with apply_style():
        figure, axes = create_picture((7.2, 4.2))
        for verb, kinds in (result.checks or {})["points"].items():
            for name, one in kinds.items():
                sizes, seconds = np.array(list(one["seconds"].items())).T
                label, colour = f"{verb}, {name}: exponent {one['exponent']:.2f}", _COLOURS[name]
                x, y = sizes / sizes[0], seconds / seconds[0]
                axes.plot(x, y, marker="o", color=colour, ls=_DASHES[verb], label=label)
        axes.set(xscale="log", yscale="log", xlabel="times the smallest size", ylabel="times its seconds")
        for axis in (axes.xaxis, axes.yaxis):
            format_powers(axis)
        axes.legend(frameon=False)
        return render_svg(figure)
