"""What the removal of frequent labels shows, in sentences, beside what the paper says of it."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.lineup import title_of
from seq2set.experiments.removal import Lead, Step
from seq2set.experiments.removal_tables import leads_of
from seq2set.experiments.statistics import Interval
from seq2set.experiments.tables import Quantity, Range

_STEADY = 0.05
"""Points within which a lead is said to stay as it is: less than the tables print."""


def removal_verdicts(steps: Sequence[Step]) -> list[str]:
    """Say how the models fare from the first step to the last, and whether the paper's claims hold."""
    falls = {row: _fall(steps, row) for row in steps[0].summaries if row in steps[-1].summaries}
    found = [_who_falls(steps, falls)]
    if "seq2seq" in falls and len(falls) > 1:
        found.append(_seq2seq_falls_most(falls))
    return found + [_lead(steps, lead) for lead in leads_of(steps)]


def _fall(steps: Sequence[Step], row: str) -> float:
    first, last = (one.summaries[row].metrics["micro_f1"].mean for one in (steps[0], steps[-1]))
    return 100 * (first - last)


def _who_falls(steps: Sequence[Step], falls: dict[str, float]) -> str:
    lost = [row for row, fall in falls.items() if fall > 0]
    who = "every model loses" if len(lost) == len(falls) else f"{len(lost)} of {len(falls)} models lose"
    least, most = min(falls, key=falls.__getitem__), max(falls, key=falls.__getitem__)
    return (
        f"Without the {steps[-1].removed} most frequent labels {who}: from {falls[least]:.1f} points of "
        f"micro-F1 ({title_of(least)}) to {falls[most]:.1f} ({title_of(most)}). "
        f"{_holds(len(lost) == len(falls), 'the performance of all models deteriorates')}"
    )


def _seq2seq_falls_most(falls: dict[str, float]) -> str:
    place = sorted(falls, key=falls.__getitem__, reverse=True).index("seq2seq") + 1
    return (
        f"Seq2Seq loses {falls['seq2seq']:.1f} points, place {place} of {len(falls)} from the one that loses "
        f"most. {_holds(place == 1, 'Seq2Seq loses more than the other methods')}"
    )


def _lead(steps: Sequence[Step], lead: Lead) -> str:
    first, last = (one.leads[lead] for one in (steps[0], steps[-1]))
    change, sure = last.points - first.points, _apart(first.interval, last.interval)
    moves = "grows" if change > 0 else "shrinks"
    how = "stays about the same," if abs(change) < _STEADY else moves
    ends = [
        f"{Quantity(one.points, 1, signed=True).text()} ({Range(one.interval, 1, signed=True).text()})"
        for one in (first, last)
    ]
    accident = "" if sure else " The intervals overlap, so that the change may be an accident."
    found = f"The lead of {lead.title} {how} from {' to '.join(ends)} points.{accident}"
    return found + _claim(lead, change, sure)


def _claim(lead: Lead, change: float, sure: bool) -> str:
    """Judge what the paper says of a lead; a change that may be an accident leaves it open."""
    if lead.theirs == "seq2seq":
        return " " + _holds(change > 0 if sure else None, "the advantage over Seq2Seq becomes larger")
    if lead.theirs == "br":
        holds = True if change > -_STEADY else False if sure else None
        return " " + _holds(holds, "the advantage over BR does not decrease")
    return ""


def _apart(one: Interval, other: Interval) -> bool:
    return one.low > other.high or other.low > one.high


def _holds(holds: bool | None, claim: str) -> str:
    state = {True: "holds", False: "does not hold", None: "is left open"}[holds]
    return f"The paper's claim that {claim} {state} here."
