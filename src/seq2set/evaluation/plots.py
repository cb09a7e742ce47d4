"""The plots of a report, each as SVG text for the page.

Lines differ in dash and bars in place, not in colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from seq2set.config.catalog import METRICS
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
from seq2set.evaluation.results import Evaluation, Report
from seq2set.labels.reliability import ReliabilityBin

CURVES = ((BLUE, "--"), (ORANGE, "-"))

Draw = Callable[[Axes, Any], None]
"""Draws what it is given on axes."""


class ReportPlot(NamedTuple):
    """A plot with the sentence below it."""

    svg: str
    caption: str


def draw_plots(result: Evaluation, history: list[dict[str, Any]]) -> list[ReportPlot]:
    """Draw the plots of a report in their order."""
    under_reliability = (
        "On the line scores are right probabilities; below it they are overconfident. "
        "Each point stands for about as many labels that score 0.05 or more, with its 95 % interval."
    )
    under_thresholds = "A lower threshold gives more labels: more of the true ones, and more wrong ones."
    under_cardinality = "Labels per document: how many they have, and how many the model gives."
    looks = [record for record in history if "update" in record]  # a linear model makes no updates
    drawn: tuple[tuple[Draw, Any, str], ...] = (
        (draw_thresholds, result, under_thresholds),
        (draw_cardinality, result, under_cardinality),
        (draw_frequencies, result, "Each point is a label: how many documents have it, and its F1."),
        (draw_reliability, result.reliability.bins(), under_reliability),
        (draw_training, looks, "Validation during training; the best weights were kept."),
    )
    return [ReportPlot(render_plot(draw, shown), caption) for draw, shown, caption in drawn if shown]


def draw_compared(reports: Sequence[Report]) -> list[ReportPlot]:
    """Draw the reliability of each of several models."""
    plots = []
    for one in reports:
        if bins := one.result.reliability.bins():
            calibrated = "calibrated" if one.result.calibrated else "not calibrated"
            where = f"{one.run} ({one.model}) on {one.data}, {one.split}, {calibrated}"
            caption = f"{where}: {one.result.reliability.describe()}."
            plots.append(ReportPlot(render_plot(draw_reliability, bins), caption))
    return plots


def draw_thresholds(axes: Axes, result: Evaluation) -> None:
    """Draw precision, recall and F1 over the threshold, with the model's own marked where it has one."""
    x = [point.threshold for point in result.curve]
    axes.plot(x, [point.precision for point in result.curve], color=BLUE, ls="--", label="precision")
    axes.plot(x, [point.recall for point in result.curve], color=GREEN, ls=":", label="recall")
    axes.plot(x, [point.f1 for point in result.curve], color=ORANGE, label=METRICS["micro_f1"].title)
    if result.threshold is not None:
        axes.axvline(result.threshold, color=GREY, lw=1)
        side = "right" if result.threshold > 0.5 else "left"  # the words stay inside the picture
        words = f" threshold {result.threshold:.2f} "
        axes.text(result.threshold, 1.02, words, color=GREY, fontsize=9, ha=side)
    axes.set(xlabel="threshold", ylim=(0, 1), xlim=(0, 1))
    axes.legend(frameon=False, loc="best")


def draw_reliability(axes: Axes, bins: Sequence[ReliabilityBin]) -> None:
    """Draw the share of right labels against their score."""
    x, y = [one.score for one in bins], [one.right for one in bins]
    below, above = [one.right - one.low for one in bins], [one.high - one.right for one in bins]
    axes.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
    axes.errorbar(x, y, yerr=[below, above], color=BLUE, marker="o", ms=4, lw=1, capsize=2)
    axes.text(0.02, 0.93, f"{sum(one.scores for one in bins):,} labels in {len(bins)} points", fontsize=9)
    axes.set(xlabel="score", ylabel="share of right labels", xlim=(0, 1), ylim=(0, 1.02))


def draw_frequencies(axes: Axes, result: Evaluation) -> None:
    """Draw each label's F1 against its number of documents in the split."""
    shown = [one for one in result.per_label if one.support]
    axes.scatter([one.support for one in shown], [one.f1 for one in shown], s=16, color=BLUE, alpha=0.6)
    axes.set(xscale="log", xlabel="documents with the label", ylabel="F1 of the label", ylim=(-0.03, 1.03))
    format_powers(axes.xaxis)


def draw_cardinality(axes: Axes, result: Evaluation) -> None:
    """Draw how many labels documents have, and how many the model gives them."""
    most = max([*result.actual_cardinality, *result.predicted_cardinality, 1])
    places = range(min(most, 20) + 1)
    actual = [result.actual_cardinality.get(n, 0) for n in places]
    predicted = [result.predicted_cardinality.get(n, 0) for n in places]
    axes.bar([n - 0.2 for n in places], actual, 0.4, color=BLUE, label="true")
    axes.bar([n + 0.2 for n in places], predicted, 0.4, color=ORANGE, hatch="//", label="predicted")
    axes.set(xlabel="labels per document", ylabel="documents")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False)


def draw_training(axes: Axes, looks: Sequence[dict[str, Any]]) -> None:
    """Draw validation micro-F1 over the updates, one line per phase."""
    styles = zip(dict.fromkeys(look["phase"] for look in looks), CURVES, strict=False)
    for phase, (colour, dash) in styles:
        points = [(look["update"], look["micro_f1"]) for look in looks if look["phase"] == phase]
        axes.plot(*zip(*points, strict=True), color=colour, ls=dash, marker=".", label=phase)
    best = max(looks, key=lambda look: look["micro_f1"])
    axes.axhline(best["micro_f1"], color=GREY, lw=0.8)
    words = f"best {best['micro_f1']:.4f}, after update {best['update']:,}"
    axes.set_title(words, color=GREY, fontsize=9, loc="right")  # above the picture, where no curve goes
    axes.set(xlabel="updates", ylabel=f"validation {METRICS['micro_f1'].title}")
    axes.legend(frameon=False, loc="best")


def render_plot(draw: Draw, shown: Any) -> str:
    """Return what is drawn as SVG text."""
    with apply_style():
        picture = create_picture((4.6, 3.1))
        draw(picture.axes, shown)
        return render_svg(picture.figure, transparent=True)  # the page's own background shows, light or dark
