"""What the removal of frequent labels shows, in sentences, beside what the paper says of it."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.claim import Claim
from seq2set.experiments.lineup import title_of
from seq2set.experiments.removal import Lead, Step
from seq2set.experiments.removal_tables import leads_of
from seq2set.experiments.statistics import Interval
from seq2set.experiments.tables import Quantity, Range

_STEADY = 0.05
"""Points within which a lead is said to stay as it is: less than the tables print."""

_CLAIMED = {"seq2seq": "becomes larger", "br": "does not decrease"}
"""What the paper says of the advantage over a baseline."""


def removal_claims(steps: Sequence[Step]) -> list[Claim]:
    """Judge what the paper says by how the models fare from the first step to the last."""
    falls = {row: _fall(steps, row) for row in steps[0].summaries if row in steps[-1].summaries}
    found = [_all_fall(steps, falls)]
    if "seq2seq" in falls and len(falls) > 1:
        found.append(_seq2seq_falls_most(falls))
    return found + [_advantage(steps, lead) for lead in leads_of(steps) if lead.theirs in _CLAIMED]


def removal_remarks(steps: Sequence[Step]) -> list[str]:
    """Say how the leads change of which the paper says nothing."""
    others = [lead for lead in leads_of(steps) if lead.theirs not in _CLAIMED]
    return [f"The lead of {lead.title} {_change(steps, lead)}." for lead in others]


def _fall(steps: Sequence[Step], row: str) -> float:
    first, last = (one.summaries[row].metrics["micro_f1"].mean for one in (steps[0], steps[-1]))
    return 100 * (first - last)


def _all_fall(steps: Sequence[Step], falls: dict[str, float]) -> Claim:
    lost = [row for row, fall in falls.items() if fall > 0]
    holds = len(lost) == len(falls)
    who = "every model loses" if holds else f"{len(lost)} of {len(falls)} models lose"
    least, most = min(falls, key=falls.__getitem__), max(falls, key=falls.__getitem__)
    return Claim(
        "the performance of all models deteriorates",
        holds,
        f"without the {steps[-1].removed} most frequent labels {who}, from {falls[least]:.1f} points of "
        f"micro-F1 ({title_of(least)}) to {falls[most]:.1f} ({title_of(most)})",
    )


def _seq2seq_falls_most(falls: dict[str, float]) -> Claim:
    place = sorted(falls, key=falls.__getitem__, reverse=True).index("seq2seq") + 1
    return Claim(
        "Seq2Seq loses more than the other methods",
        place == 1,
        f"it loses {falls['seq2seq']:.1f} points, place {place} of {len(falls)} from the one that loses most",
    )


def _advantage(steps: Sequence[Step], lead: Lead) -> Claim:
    """Judge a lead by its change; one that may be an accident leaves the claim open."""
    change, sure = _moved(steps, lead)
    if lead.theirs == "seq2seq":
        holds = change > 0 if sure else None
    else:
        holds = True if change > -_STEADY else False if sure else None
    claim = f"the advantage of {lead.title} {_CLAIMED[lead.theirs]}"
    return Claim(claim, holds, f"it {_change(steps, lead)}")


def _change(steps: Sequence[Step], lead: Lead) -> str:
    change, sure = _moved(steps, lead)
    moves = "grows" if change > 0 else "shrinks"
    how = "stays about the same," if abs(change) < _STEADY else moves
    ends = [
        f"{Quantity(one.points, 1, signed=True).text()} ({Range(one.interval, 1, signed=True).text()})"
        for one in (step.leads[lead] for step in (steps[0], steps[-1]))
    ]
    accident = "" if sure else "; the intervals overlap, so that the change may be an accident"
    return f"{how} from {' to '.join(ends)} points{accident}"


def _moved(steps: Sequence[Step], lead: Lead) -> tuple[float, bool]:
    """Return by how many points a lead changes, and whether its intervals lie apart."""
    first, last = (one.leads[lead] for one in (steps[0], steps[-1]))
    return last.points - first.points, _apart(first.interval, last.interval)


def _apart(one: Interval, other: Interval) -> bool:
    return one.low > other.high or other.low > one.high
