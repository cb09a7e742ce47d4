"""Rows side by side: what each came to, the best baseline, and every row's difference to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from seq2set.experiments.cells import CellResult
from seq2set.experiments.lineup import BASELINES
from seq2set.experiments.summaries import Compared, Summary, against, best_on_validation, summarise


@dataclass(frozen=True)
class Comparison:
    """The rows of a table, and what they are compared with."""

    summaries: Sequence[Summary]
    reference: Summary | None
    """The best baseline on validation, where there is a baseline"""
    compared: Mapping[str, Compared]
    """Each other row against it"""

    @property
    def ruled(self) -> list[bool]:
        """Say above which rows a line is drawn: where the baselines end, as in the paper."""
        baselines = [one.model in BASELINES for one in self.summaries]
        return [place > 0 and baselines[place - 1] and not one for place, one in enumerate(baselines)]


def compare_rows(results: Sequence[CellResult], *, labels: Collection[str] | None = None) -> Comparison:
    """Compare the rows of finished cells; where labels are named, as if there were no others."""
    summaries = summarise(results, labels=labels)
    reference = best_on_validation([one for one in summaries if one.model in BASELINES])
    return Comparison(summaries, reference, against(summaries, reference))
