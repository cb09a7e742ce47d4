"""What the removal of frequent labels shows, in sentences, beside what the paper says of it."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.lineup import title_of
from seq2set.experiments.removal import Lead, Step
from seq2set.experiments.removal_tables import leads_of
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
    change = last.points - first.points
    moves = "grows" if change > 0 else "shrinks"
    how = "stays about the same," if abs(change) < _STEADY else moves
    ends = [
        f"{Quantity(one.points, 1, signed=True).text()} ({Range(one.interval, 1, signed=True).text()})"
        for one in (first, last)
    ]
    overlap = _overlap(first.interval, last.interval)
    found = f"The lead of {lead.title} {how} from {' to '.join(ends)} points. {overlap}"
    if lead.theirs == "seq2seq":
        return found + _holds(change >= _STEADY, "the advantage over Seq2Seq becomes larger")
    if lead.theirs == "br":
        return found + _holds(change > -_STEADY, "the advantage over BR does not decrease")
    return found.rstrip()


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> str:
    apart = one[0] > other[1] or other[0] > one[1]
    return "" if apart else "The intervals overlap, so that the change may be an accident. "


def _holds(holds: bool, claim: str) -> str:
    return f"The paper's claim that {claim} {'holds' if holds else 'does not hold'} here."
