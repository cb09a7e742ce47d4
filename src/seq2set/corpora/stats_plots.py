"""Corpus statistics as pictures.

Correlations have the colours of a map from blue over white to red that people with any colour vision can
read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from seq2set.core.drawing import BLUE, GREY, ORANGE, apply_style, create_picture, format_powers
from seq2set.core.files import write_aside
from seq2set.core.text_utils import shorten
from seq2set.corpora.stats import CorpusStatistics

_WIDE, _SQUARE = (7.0, 4.2), (9.0, 8.4)
_MOST_BARS = 40
_NAMED_LABELS = 5


def draw_statistics(statistics: CorpusStatistics, folder: Path) -> list[Path]:
    """Draw all pictures into `folder`, as PNG files, and return their paths."""
    pictures: dict[str, tuple[tuple[float, float], str, Callable[[CorpusStatistics, Axes], None]]] = {
        "label-frequencies": (_WIDE, "label frequencies", _draw_frequencies),
        "labels-per-document": (_WIDE, "labels per document", _draw_cardinalities),
        "words-per-document": (_WIDE, "words per document", _draw_lengths),
        "label-correlations": (_SQUARE, "correlation (phi) of the most frequent labels", _draw_correlations),
    }
    for name, (size, title, draw_on) in pictures.items():
        with apply_style(), write_aside(folder / f"{name}.png") as aside:
            picture = create_picture(size, dpi=120)
            picture.axes.set_title(f"{shorten(statistics.name, 30)}: {title}")
            draw_on(statistics, picture.axes)
            picture.figure.savefig(aside, format="png")
    return [folder / f"{name}.png" for name in pictures]


def _draw_frequencies(statistics: CorpusStatistics, axes: Axes) -> None:
    totals = [row.total for row in statistics.label_frequencies]
    ranks = range(1, len(totals) + 1)
    named = statistics.label_frequencies[:_NAMED_LABELS]
    axes.plot(ranks, totals, color=BLUE, marker="o", markersize=3, linewidth=1)
    # Beside their points, the names of labels of like frequency would cover one another; this corner is free.
    names = [f"{rank}  {shorten(row.label, 50)}" for rank, row in enumerate(named, 1)]
    axes.text(0.02, 0.03, "\n".join(names), color=GREY, fontsize=8, transform=axes.transAxes)
    scale = "log" if totals else "linear"
    axes.set(xscale=scale, yscale=scale, xlabel="rank of the label", ylabel="documents with the label")
    for axis in (axes.xaxis, axes.yaxis):
        format_powers(axis)
    axes.grid(alpha=0.3)


def _draw_cardinalities(statistics: CorpusStatistics, axes: Axes) -> None:
    shown = [row for row in statistics.cardinalities if row.labels <= _MOST_BARS]
    axes.bar([row.labels for row in shown], [row.documents for row in shown], color=BLUE, width=0.8)
    mean = statistics.labels_per_document
    axes.axvline(mean, color=ORANGE, linestyle="--", label=f"mean {mean:.2f}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    more = sum(row.documents for row in statistics.cardinalities if row.labels > _MOST_BARS)
    _name_axes(axes, "labels per document", more)


def _draw_lengths(statistics: CorpusStatistics, axes: Axes) -> None:
    lengths = statistics.lengths
    axes.stairs(lengths.documents, lengths.edges, fill=True, color=BLUE)
    median = lengths.quantiles["median"]
    axes.axvline(median, color=ORANGE, linestyle="--", label=f"median {median:,.0f}")
    _name_axes(axes, "words per document", lengths.longer)


def _draw_correlations(statistics: CorpusStatistics, axes: Axes) -> None:
    names = [shorten(label, 30) for label in statistics.correlation_map.labels]
    if not names:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "too few documents per label to compare labels", ha="center", color=GREY)
        return
    values = np.array(statistics.correlation_map.phi)
    np.fill_diagonal(values, np.nan)
    # The scale leaves out the few strongest pairs: on a scale up to 1 most corpora would look all white.
    most = float(np.nanquantile(np.abs(values), 0.98)) if len(names) > 1 else 0.0
    most = most or 1.0
    axes.set_facecolor("#DDDDDD")
    image = axes.imshow(values, cmap="RdBu_r", vmin=-most, vmax=most)
    axes.spines[:].set_visible(False)
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.figure.colorbar(image, ax=axes, shrink=0.6, extend="both", label="phi")


def _name_axes(axes: Axes, what: str, beyond: int) -> None:
    axes.set_xlabel(what + (f" ({beyond:,} documents with more are not shown)" if beyond else ""))
    axes.set_ylabel("documents")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False)
