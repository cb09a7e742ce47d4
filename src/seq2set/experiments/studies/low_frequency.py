"""The paper's error analysis: how well rare labels are given, beside frequent ones.

Labels are put into bands of training frequency, and the models are measured on each band as if there were no
other labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from seq2set.core.errors import InputError
from seq2set.experiments.analysis.comparison import RowKey, Summary, summarize_rows
from seq2set.experiments.analysis.margins import ABOVE, BELOW, Contrast, Pair, compare_pairs, compare_steps
from seq2set.experiments.cells.predictions import Answers
from seq2set.experiments.options import Options
from seq2set.experiments.render.plots import Series, follow_rows, make_series_table, note_shades, plot_series
from seq2set.experiments.render.report import Section
from seq2set.experiments.render.tables import Column, Quantity, Row, Table
from seq2set.experiments.studies.study import ClaimRule, Study, StudyData, Variant, make_plain_variants


class Band(NamedTuple):
    """Labels of about one frequency: those that a band of numbers of training documents have."""

    labels: tuple[str, ...]
    least: int
    most: int

    @property
    def title(self) -> str:
        """The band's name in print."""
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


class MeasuredBand(NamedTuple):
    """A band, how often its labels stand in the documents that were measured, and the models on it."""

    band: Band
    occurrences: int
    summaries: dict[RowKey, Summary]


def _make_variants(options: Options) -> list[Variant]:
    if {"bands", "limits"} <= options.extra.keys():
        raise InputError("--option bands and --option limits are both named; it must be one of them")
    return make_plain_variants(options)


def make_bands(options: Options, answers: Answers) -> list[Band]:
    """Put the labels that were trained on into bands, the most frequent first.

    Bands hold equally many labels, as nearly as that goes, or those between the frequencies that are named.
    """
    known = [(name, count) for name, count in zip(answers.names, answers.frequencies, strict=True) if count]
    limits: tuple[int, ...] | None = options.read("limits")
    if limits is None:
        groups = np.array_split(np.arange(len(known)), min(options.read("bands"), len(known)))
    else:
        places = np.searchsorted(limits, [count for _, count in known], side="right")
        groups = [np.flatnonzero(places == place) for place in range(len(limits), -1, -1)]
    found = []
    for group in groups:
        if len(group):
            names, counts = zip(*(known[place] for place in group), strict=True)
            found.append(Band(names, min(counts), max(counts)))
    return found


def _report(data: StudyData) -> list[Section]:
    answers, bands = data.results[0].answers, []
    for band in make_bands(data.options, answers):
        occurrences = int(data.rows[0].results[0].answers.counts(band.labels).actual.sum())
        summaries = {one.key: one for one in summarize_rows(data.rows, labels=band.labels)}
        bands.append(MeasuredBand(band, occurrences, summaries))
    caption = "Columns: how many training documents have each label of the band."
    if unseen := sum(count == 0 for count in answers.frequencies):
        caption += f" {unseen} labels that no training document has are in no band: nobody can give them."
    alone = "All labels lie in one band, so that there is nothing to compare."
    found = (alone,) if len(bands) < 2 else ()
    micro, macro = (_make_series(bands, metric) for metric in ("micro_f1", "macro_f1"))
    of_each = "on the labels of each band"
    below = (
        f"Micro-F1 {of_each}, from frequent to rare. Below: training documents per label, labels in the "
        f"band, and how often they occur in what was measured.{note_shades(bands[0].summaries.values())}"
    )
    tables = (
        make_series_table("by-frequency", f"Micro-F1 {of_each}", micro, caption),
        make_series_table("by-frequency-macro", f"Macro-F1 {of_each}", macro, caption),
        _make_contents_table(bands),
    )
    plots = (plot_series("f1-by-frequency", below, micro),)
    asked = "How well do the models give labels that few training documents have?"
    return [Section("F1 by the frequency of labels", asked, found, tables, plots, data.judge(bands))]


def _make_series(bands: Sequence[MeasuredBand], metric: str) -> Series:
    lines = follow_rows([one.summaries for one in bands], metric)
    ticks = [f"{one.band.title}\n{len(one.band.labels)} labels\n{one.occurrences:,} ×" for one in bands]
    return Series(lines, "training documents of a label", [one.band.title for one in bands], ticks)


def _make_contents_table(bands: Sequence[MeasuredBand]) -> Table:
    rows = []
    for band, occurrences, _ in bands:
        entries = str(len(band.labels)), Quantity(occurrences, 0), ", ".join(band.labels[:3])
        rows.append(Row(band.title, entries))
    columns = (Column("labels"), Column("occurrences measured"), Column("such as"))
    return Table("bands", "What the bands hold", columns, tuple(rows), rows_are="Training documents")


def _compare_ends(bands: Sequence[MeasuredBand]) -> list[Contrast]:
    """Test by how much each model is better on the rarest labels; one band tells nothing."""
    return compare_steps(bands[0].summaries, bands[-1].summaries) if len(bands) > 1 else []


def _name_ends(bands: Sequence[MeasuredBand]) -> str:
    frequent, rare = bands[0].band.title, bands[-1].band.title
    return f"on the rarest labels ({rare} training documents) against the most frequent ones ({frequent}): "


def _compare_on_rarest(bands: Sequence[MeasuredBand], *, baselines: bool) -> Sequence[Contrast]:
    """Test Seq2Seq against the other baselines, or the paper's own models against it."""
    rare = bands[-1].summaries
    if len(bands) < 2 or (seq2seq := rare.get(RowKey("seq2seq"))) is None:
        return []
    others = [one for one in rare.values() if one.is_baseline is baselines and one is not seq2seq]
    return compare_pairs(Pair(seq2seq, one) if baselines else Pair(one, seq2seq) for one in others)


_compare_baselines, _compare_ours = (partial(_compare_on_rarest, baselines=one) for one in (True, False))

STUDY = Study(
    title="Rare labels and frequent ones",
    variants=_make_variants,
    more=_report,  # margins are of single bands, and `MarginTable` of the rows as a whole
    claims=(
        ClaimRule("all methods perform poorly on rare labels", BELOW, _compare_ends, _name_ends),
        ClaimRule("Seq2Seq is particularly poor on rare labels", BELOW, _compare_baselines),
        ClaimRule("Seq2Set does better than Seq2Seq on rare labels", ABOVE, _compare_ours),
    ),
)
