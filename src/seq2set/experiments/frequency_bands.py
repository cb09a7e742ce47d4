"""Labels in bands of training frequency, and how the models do in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seq2set.errors import InputError
from seq2set.experiments.answers import Answers
from seq2set.experiments.cells import CellResult
from seq2set.experiments.options import Options
from seq2set.experiments.own_numbers import own_number, own_numbers
from seq2set.experiments.summaries import Summary, summarise

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
