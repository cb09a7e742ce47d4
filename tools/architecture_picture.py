"""Draw docs/images/architecture.svg: the rooms by layer, and the way of a document through them.

    python tools/architecture_picture.py [FILE]

tests/architecture/test_layers.py compares the rooms drawn here with the layers that it holds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).parents[1]

ROWS = (
    (("cli", "one file per verb"), ("server", "HTTP and the page"), ("estimator", "scikit-learn's habit")),
    (
        ("tuning", "settings, thresholds"),
        ("experiments", "the paper's tables and figures"),
        ("benchmarks", "speed as ratios"),
    ),
    (("workflows", "train, evaluate, predict, distil, export: one function each, used by every face"),),
    (("inference", "model folder, predictor"), ("evaluation", "measure, report page")),
    (("training", "the only loop: phases, checkpoints, history"),),
    (("models", "one file per model of the paper; the linear prior"),),
    (("nn", "encoders, attention, decoder, searches"), ("objectives", "likelihood, rewards, self-critical")),
    (("corpora", "readers, known sources, splits, checks"),),
    (("text", "words, TF-IDF, batches"), ("labels", "order, metrics, rules, thresholds")),
    (("config", "catalog of named things, settings, presets"),),
    (("core", "errors, files, processes, progress"),),
)
"""The rooms from the faces down to what everything rests on; a room imports from rows below its own only."""

WAY = ("corpora", "text", "nn", "models", "training", "inference", "evaluation")
"""The rooms that a document goes through, in this order."""

INK, SOFT, BACK, MARK = "#1c2330", "#5b6472", "#f3f5f8", "#0072B2"
WIDTH, HEIGHT, GAP = 12.0, 0.62, 0.2


def draw(path: Path) -> None:
    """Write the picture."""
    mpl.rcParams["svg.hashsalt"] = "seq2set"  # the same file each time
    figure = Figure(figsize=(9, 6.6))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-0.4, WIDTH + 0.4), ylim=(len(ROWS) * (HEIGHT + GAP) + 0.2, -0.6))
    axes.axis("off")
    axes.text(0, -0.25, "Rooms import downwards only. A document passes the numbered ones.", color=SOFT)
    for number, row in enumerate(ROWS):
        width = (WIDTH - GAP * (len(row) - 1)) / len(row)
        for place, (name, what) in enumerate(row):
            _room(axes, place * (width + GAP), number * (HEIGHT + GAP), width, name, what)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)


def _room(axes, left: float, top: float, width: float, name: str, what: str) -> None:  # type: ignore[no-untyped-def]
    on_the_way = name in WAY
    box = FancyBboxPatch(
        (left, top),
        width,
        HEIGHT,
        boxstyle="round,pad=0,rounding_size=0.1",
        facecolor=BACK,
        edgecolor=MARK if on_the_way else "#c9d0da",
        linewidth=1.6 if on_the_way else 1,
    )
    axes.add_patch(box)
    middle = left + width / 2
    title = f"{WAY.index(name) + 1}  {name}" if on_the_way else name
    axes.text(
        middle, top + 0.26, title, ha="center", va="center", color=MARK if on_the_way else INK, weight="bold"
    )
    axes.text(middle, top + 0.47, what, ha="center", va="center", color=SOFT, fontsize=8)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/images/architecture.svg")
