"""What is left of each model's micro-F1, and of the leads, when the most frequent labels are left out.

The paper's two figures on robustness, and the tables behind them.

What the removal of frequent labels shows, in sentences, beside what the paper says of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seq2set.experiments.analysis.comparison import Summary, best_on_validation, summarise
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    NOT_BELOW,
    Claim,
    Contrast,
    Margin,
    Pair,
    Terms,
    contrasts,
    difference,
    few_noted,
    judged,
    margins,
    method,
    minus,
    signed,
)
from seq2set.experiments.analysis.statistics import Spread
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.model_names import baselines, title_of
from seq2set.experiments.render.plots import STYLES, UNKNOWN, Axis, Curve, Plot, Style, curve_plot
from seq2set.experiments.render.tables import Column, Entry, Quantity, Range, Row, Table, quantity

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
    ours = [row for row, one in summaries.items() if one.model not in baselines()]
    others = [one for one in summaries.values() if one.model in baselines()]
    best = best_on_validation(others)
    rivals = [one.row for one in others if one.row in PAPER_RIVALS or one is best]
    return [(one, other) for other in rivals for one in ours]


AXIS = "most frequent labels left out"


def removal_tables(name: str, title: str, steps: Sequence[Step]) -> tuple[Table, ...]:
    """Return the models at each step, their leads where there are any, and what is left to measure."""
    leads = [lead_table(f"{name}-leads", steps)] if leads_of(steps) else []
    return (f1_table(f"{name}-f1", title, steps), *leads, what_is_left(f"{name}-labels", steps))


def removal_figures(name: str, steps: Sequence[Step]) -> tuple[Plot, ...]:
    """Draw the paper's two figures; the second only where there are leads."""
    leads = [lead_curves(f"{name}-leads", steps)] if leads_of(steps) else []
    return (f1_curves(f"{name}-f1", steps), *leads)


def f1_table(name: str, title: str, steps: Sequence[Step]) -> Table:
    """Return a row a model and a column a step."""
    rows = [
        Row(
            title_of(row),
            tuple(
                quantity(one.summaries[row].metrics["micro_f1"]) if row in one.summaries else None
                for one in steps
            ),
        )
        for row in _rows(steps)
    ]
    return Table(name, title, _columns(steps, better=True), tuple(rows), _seeds(steps))


def lead_table(name: str, steps: Sequence[Step]) -> Table:
    """Return two rows a lead, its points of micro-F1 and their interval, and a column a step."""
    rows: list[Row] = []
    for lead in leads_of(steps):
        points: list[Entry] = [Quantity(one.leads[lead].points, 1, signed=True) for one in steps]
        intervals: list[Entry] = [Range(one.leads[lead].interval, 1, signed=True) for one in steps]
        rows += [Row(lead.title, tuple(points), ruled=bool(rows)), Row("95 % of it", tuple(intervals))]
    title = "The leads, in points of micro-F1"
    caption = " ".join([method(0, list(steps[0].summaries.values())), *few_noted(_all_leads(steps))])
    return Table(name, title, _columns(steps), tuple(rows), caption, "Leads")


def _all_leads(steps: Sequence[Step]) -> list[Margin]:
    return [margin for one in steps for margin in one.leads.values()]


def what_is_left(name: str, steps: Sequence[Step]) -> Table:
    """Return what there is to measure at each step."""
    columns = (Column("labels left"), Column("occurrences"), Column("share"), Column("documents"))
    whole = steps[0].occurrences
    rows = [
        Row(
            f"{one.removed} left out",
            (
                str(one.labels),
                Quantity(one.occurrences, 0),
                Quantity(one.occurrences / max(whole, 1)),
                Quantity(one.documents, 0),
            ),
        )
        for one in steps
    ]
    return Table(name, "What is left to measure", columns, tuple(rows), rows_are="Steps")


def f1_curves(name: str, steps: Sequence[Step]) -> Plot:
    """Draw the paper's first figure: each model's micro-F1 on the labels that are left."""
    curves = [
        Curve(
            title_of(row),
            [one.summaries[row].metrics["micro_f1"] for one in steps],
            STYLES.get(steps[0].summaries[row].model, UNKNOWN),
        )
        for row in _rows(steps)
        if all(row in one.summaries for one in steps)
    ]
    caption = f"Micro-F1 on the labels that are left. {_bands(steps)}".strip()
    return curve_plot(name, caption, curves, _axis(steps), "micro-F1")


def lead_curves(name: str, steps: Sequence[Step]) -> Plot:
    """Draw the paper's second figure: the leads over the baselines."""
    curves = [
        Curve(lead.title, [lead_of(one, lead) for one in steps], _style(steps[0], lead))
        for lead in leads_of(steps)
    ]
    caption = f"The leads on the labels that are left, in points of micro-F1. {_bands(steps)}".strip()
    return curve_plot(name, caption, curves, _axis(steps), "points of micro-F1", zero=True)


def leads_of(steps: Sequence[Step]) -> list[Lead]:
    """Return the leads that are known at every step."""
    return [lead for lead in steps[0].leads if all(lead in one.leads for one in steps)]


def _rows(steps: Sequence[Step]) -> list[str]:
    return list(dict.fromkeys(row for one in steps for row in one.summaries))


def _style(step: Step, lead: Lead) -> Style:
    """Give a lead the colour of its model, and the dash and the marker of its rival."""
    ours, theirs = (STYLES.get(step.summaries[row].model, UNKNOWN) for row in lead)
    return theirs._replace(colour=ours.colour)


def _columns(steps: Sequence[Step], *, better: bool = False) -> tuple[Column, ...]:
    return tuple(
        Column(f"−{one.removed}" if one.removed else "all", "higher" if better else "") for one in steps
    )


def _axis(steps: Sequence[Step]) -> Axis:
    return Axis(AXIS, [one.removed for one in steps])


def _several(steps: Sequence[Step]) -> bool:
    return any(len(summary.results) > 1 for summary in steps[0].summaries.values())


def _bands(steps: Sequence[Step]) -> str:
    return "Shades: the deviation over seeds." if _several(steps) else ""


def _seeds(steps: Sequence[Step]) -> str:
    deviation = "; mean ± deviation over seeds" if _several(steps) else ""
    return f"Columns: how many of the most frequent labels are left out{deviation}."


_CLAIMED = {"seq2seq": ("becomes larger", ABOVE), "br": ("does not decrease", NOT_BELOW)}
"""What the paper says of the advantage over a baseline, and how its change must be for that."""


def removal_claims(steps: Sequence[Step]) -> list[Claim]:
    """Judge what the paper says by how the models fare from the first step to the last."""
    rows = [row for row in steps[0].summaries if row in steps[-1].summaries]
    removed = f"without the {steps[-1].removed} most frequent labels: "
    changes = contrasts({title_of(row): _change(steps, row) for row in rows})
    found = judged("the performance of all models deteriorates", changes, BELOW, removed)
    found += judged("Seq2Seq loses more than the other methods", _losses(steps, rows), ABOVE, removed)
    for one in lead_changes(steps, [lead for lead in leads_of(steps) if lead.theirs in _CLAIMED]):
        said, wanted = _CLAIMED[one.lead.theirs]
        found += judged(f"the advantage of {one.lead.title} {said}", [one.contrast], wanted)
    return found


def removal_remarks(steps: Sequence[Step]) -> list[str]:
    """Say how the leads change of which the paper says nothing."""
    others = [lead for lead in leads_of(steps) if lead.theirs not in _CLAIMED]
    changes = [one.contrast for one in lead_changes(steps, others)]
    return [f"T{one.text_with_interval()[1:]}, {one.verdict}." for one in changes]


class LeadChange(NamedTuple):
    """How a lead changes from the first step to the last."""

    lead: Lead
    contrast: Contrast


def lead_changes(steps: Sequence[Step], leads: Sequence[Lead]) -> list[LeadChange]:
    """Test the changes of leads."""
    wanted: dict[str, Terms] = {}
    for lead in leads:
        first, last = (one.leads[lead] for one in (steps[0], steps[-1]))
        ends = f"from {signed(first.points)} to {signed(last.points)} points"
        title = f"the lead of {lead.title}, {ends}, changes by"
        wanted[title] = [*difference(*last.pair), *minus(difference(*first.pair))]
    return [LeadChange(*one) for one in zip(leads, contrasts(wanted), strict=True)]


def _change(steps: Sequence[Step], row: str) -> Terms:
    return difference(steps[-1].summaries[row], steps[0].summaries[row])


def _losses(steps: Sequence[Step], rows: Sequence[str]) -> list[Contrast]:
    """Test by how much more Seq2Seq loses than each other row."""
    if "seq2seq" not in rows:
        return []
    return contrasts(
        {
            f"the loss of {title_of('seq2seq')} over that of {title_of(row)}": [
                *_change(steps, row),
                *minus(_change(steps, "seq2seq")),
            ]
            for row in rows
            if row != "seq2seq"
        }
    )
