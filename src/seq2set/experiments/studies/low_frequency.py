"""Labels in bands of training frequency, and how the models do in each.

What the bands of label frequency show, beside what the paper says of rare labels.

The paper's error analysis: how well rare labels are given, beside frequent ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seq2set.core.errors import InputError
from seq2set.experiments.analysis.comparison import Summary, summarise
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    Claim,
    Pair,
    contrasts,
    difference,
    judged,
    margins,
)
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.cells.predictions import Answers
from seq2set.experiments.model_names import baselines, title_of
from seq2set.experiments.options import Options, own_number, own_numbers
from seq2set.experiments.render.plots import STYLES, UNKNOWN, Axis, Curve, Plot, curve_plot
from seq2set.experiments.render.report import Section, every_training
from seq2set.experiments.render.tables import Column, Quantity, Row, Table, quantity
from seq2set.experiments.studies import compare

BANDS = 5
"""How many bands there are unless told."""


class Band(NamedTuple):
    """Labels of about one frequency: those that at least and at most so many training documents have."""

    labels: tuple[str, ...]
    least: int
    most: int

    @property
    def title(self) -> str:
        """The band's name in print."""
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


@dataclass(frozen=True)
class MeasuredBand:
    """A band, how often its labels stand in the documents that were measured, and the models on it."""

    band: Band
    occurrences: int
    summaries: dict[str, Summary]


def bands_of(options: Options, answers: Answers) -> list[Band]:
    """Put the labels that were trained on into bands, the most frequent first.

    Bands hold equally many labels, as nearly as that goes, or those between the frequencies that are named.
    """
    refuse_both(options)
    known = [(name, count) for name, count in zip(answers.names, answers.frequencies, strict=True) if count]
    limits = own_numbers(options, "limits")
    if limits is None:
        number = min(own_number(options, "bands", BANDS), len(known))
        groups = np.array_split(np.arange(len(known)), number)
    else:
        places = np.searchsorted(limits, [count for _, count in known], side="right")
        groups = [np.flatnonzero(places == place) for place in range(len(limits), -1, -1)]
    return [_band([known[place] for place in group]) for group in groups if len(group)]


def refuse_both(options: Options) -> None:
    """Refuse a number of bands beside their limits, and either where it is named wrongly."""
    if {"bands", "limits"} <= options.extra.keys():
        raise InputError("--option bands and --option limits are both named; it must be one of them")
    own_number(options, "bands", BANDS)
    own_numbers(options, "limits")


def measured_bands(results: Sequence[CellResult], bands: Sequence[Band]) -> list[MeasuredBand]:
    """Measure the models on the labels of each band, as if there were no others."""
    answers = results[0].answers
    return [
        MeasuredBand(
            band,
            int(answers.counts(band.labels).actual.sum()),
            {one.row: one for one in summarise(results, labels=band.labels)},
        )
        for band in bands
    ]


def _band(labels: Sequence[tuple[str, int]]) -> Band:
    counts = [count for _, count in labels]
    return Band(tuple(name for name, _ in labels), min(counts), max(counts))


def band_claims(bands: Sequence[MeasuredBand]) -> list[Claim]:
    """Judge what the paper says by how the models do on the rarest labels; one band tells nothing."""
    if len(bands) < 2:
        return []
    frequent, rare = bands[0], bands[-1]
    falls = contrasts(
        {title_of(row): difference(one, frequent.summaries[row]) for row, one in rare.summaries.items()}
    )
    places = (
        f"on the rarest labels ({rare.band.title} training documents) against the most frequent ones "
        f"({frequent.band.title}): "
    )
    found = judged("all methods perform poorly on rare labels", falls, BELOW, places)
    if "seq2seq" not in rare.summaries:
        return found
    seq2seq = rare.summaries["seq2seq"]
    rivals = [one for one in rare.summaries.values() if one.model in baselines() and one is not seq2seq]
    ours = [one for one in rare.summaries.values() if one.model not in baselines()]
    below = margins([Pair(seq2seq, one) for one in rivals])
    above = margins([Pair(one, seq2seq) for one in ours])
    found += judged("Seq2Seq is particularly poor on rare labels", below, BELOW)
    return found + judged("Seq2Set does better than Seq2Seq on rare labels", above, ABOVE)


def band_remarks(bands: Sequence[MeasuredBand]) -> list[str]:
    """Say where there is nothing to compare."""
    return ["All labels lie in one band, so that there is nothing to compare."] if len(bands) < 2 else []


TITLE = "Rare labels and frequent ones"


def cells(options: Options) -> list[Cell]:
    """Return the cells of the comparison: nothing else is trained."""
    refuse_both(options)
    return compare.cells(options)


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:
    """Measure the models on the labels of each band of frequency."""
    answers = results[0].answers
    bands = measured_bands(results, bands_of(options, answers))
    unseen = sum(count == 0 for count in answers.frequencies)
    return [
        Section(
            "F1 by the frequency of labels",
            "How well do the models give labels that few training documents have?",
            tuple(band_remarks(bands)),
            (
                _table("by-frequency", "Micro-F1 on the labels of each band", "micro_f1", bands, unseen),
                _table(
                    "by-frequency-macro", "Macro-F1 on the labels of each band", "macro_f1", bands, unseen
                ),
                _contents(bands),
            ),
            (_curves(bands),),
            tuple(band_claims(bands)),
        ),
        every_training(results),
    ]


def _table(name: str, title: str, metric: str, bands: Sequence[MeasuredBand], unseen: int) -> Table:
    rows = [
        Row(title_of(row), tuple(quantity(one.summaries[row].metrics[metric]) for one in bands))
        for row in bands[0].summaries
    ]
    caption = "Columns: how many training documents have each label of the band."
    if unseen:
        caption += f" {unseen} labels that no training document has are in no band: nobody can give them."
    return Table(name, title, tuple(Column(one.band.title, "higher") for one in bands), tuple(rows), caption)


def _contents(bands: Sequence[MeasuredBand]) -> Table:
    rows = [
        Row(one.band.title, (str(len(one.band.labels)), Quantity(one.occurrences, 0), _some(one)))
        for one in bands
    ]
    columns = (Column("labels"), Column("occurrences measured"), Column("such as"))
    return Table("bands", "What the bands hold", columns, tuple(rows), rows_are="Training documents")


def _some(measured: MeasuredBand) -> str:
    return ", ".join(measured.band.labels[:3])


def _curves(bands: Sequence[MeasuredBand]) -> Plot:
    curves = [
        Curve(
            title_of(row),
            [one.summaries[row].metrics["micro_f1"] for one in bands],
            STYLES.get(summary.model, UNKNOWN),
        )
        for row, summary in bands[0].summaries.items()
    ]
    ticks = [f"{one.band.title}\n{len(one.band.labels)} labels\n{one.occurrences:,} ×" for one in bands]
    several = any(len(one.results) > 1 for one in bands[0].summaries.values())
    caption = (
        "Micro-F1 on the labels of each band, from frequent to rare. Below: training documents a label, "
        "labels in the band, and how often they occur in what was measured."
        f"{' Shades: the deviation over seeds.' if several else ''}"
    )
    axis = Axis("training documents of a label", range(len(bands)), ticks)
    return curve_plot("f1-by-frequency", caption, curves, axis, "micro-F1")
