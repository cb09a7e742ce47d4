"""What is left of each model's micro-F1, and of the leads, when the most frequent labels are left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seq2set.experiments.cells import CellResult
from seq2set.experiments.lineup import BASELINES, title_of
from seq2set.experiments.margins import Margin, Pair, margins
from seq2set.experiments.statistics import Spread
from seq2set.experiments.summaries import Summary, best_on_validation, summarise

PAPER_RIVALS = ("br", "seq2seq")
"""The baselines that the paper draws the lead over."""


class Lead(NamedTuple):
    """Two rows, the first of which is one of the paper's own models."""

    ours: str
    theirs: str

    @property
    def title(self) -> str:
        """The lead's name in print."""
        return f"{title_of(self.ours)} over {title_of(self.theirs)}"


@dataclass(frozen=True)
class Step:
    """The models on what is left when some labels are gone."""

    removed: int
    labels: int
    """How many labels are left"""
    occurrences: int
    """How often they stand in the documents that were measured"""
    documents: int
    """How many documents were measured"""
    summaries: dict[str, Summary]
    leads: dict[Lead, Margin]


class Remainder(NamedTuple):
    """The finished cells of a step, and the labels to measure on; all where none are named."""

    removed: int
    results: Sequence[CellResult]
    labels: Collection[str] | None = None


def measured(remainder: Remainder) -> Step:
    """Measure the models of one step and their leads."""
    removed, results, labels = remainder
    summaries = {one.row: one for one in summarise(results, labels=labels)}
    leads = [Lead(ours, theirs) for ours, theirs in _leads(summaries)]
    found = margins([Pair(summaries[one.ours], summaries[one.theirs]) for one in leads])
    answers = results[0].answers
    return Step(
        removed=removed,
        labels=len(answers.names) if labels is None else len(labels),
        occurrences=int(answers.counts(labels).actual.sum()),
        documents=len(answers.ids),
        summaries=summaries,
        leads=dict(zip(leads, found, strict=True)),
    )


def lead_of(step: Step, lead: Lead) -> Spread:
    """Return a lead in points, with what the seeds of both rows make it waver by."""
    deviations = [step.summaries[row].metrics["micro_f1"].deviation for row in lead]
    known = [100 * one for one in deviations if one is not None]
    # The seeds of two models have nothing to do with each other, so their variances add up.
    return Spread(step.leads[lead].points, sum(one**2 for one in known) ** 0.5 if known else None)


def _leads(summaries: dict[str, Summary]) -> list[tuple[str, str]]:
    """Pair each of the paper's models with the paper's rivals and with the best baseline of all."""
    ours = [row for row, one in summaries.items() if one.model not in BASELINES]
    baselines = [one for one in summaries.values() if one.model in BASELINES]
    best = best_on_validation(baselines)
    rivals = [one.row for one in baselines if one.row in PAPER_RIVALS or one is best]
    return [(one, other) for other in rivals for one in ours]
