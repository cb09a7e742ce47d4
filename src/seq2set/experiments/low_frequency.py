"""The paper's error analysis: how well rare labels are given, beside frequent ones."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments import compare
from seq2set.experiments.band_verdicts import band_claims, band_remarks
from seq2set.experiments.cells import Cell, CellResult
from seq2set.experiments.figures import Plot
from seq2set.experiments.frequency_bands import MeasuredBand, bands_of, measured_bands, refuse_both
from seq2set.experiments.lineup import title_of
from seq2set.experiments.model_curves import STYLES, UNKNOWN, Axis, Curve, curve_plot
from seq2set.experiments.options import Options
from seq2set.experiments.sections import Section, every_training
from seq2set.experiments.tables import Column, Quantity, Row, Table, quantity

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
