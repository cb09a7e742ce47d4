"""The paper's two figures on robustness, and the tables behind them."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.figures import Plot
from seq2set.experiments.lineup import title_of
from seq2set.experiments.margins import Margin, few_noted, method
from seq2set.experiments.model_curves import STYLES, UNKNOWN, Axis, Curve, Style, curve_plot
from seq2set.experiments.removal import Lead, Step, lead_of
from seq2set.experiments.tables import Column, Entry, Quantity, Range, Row, Table, quantity

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
