"""What the removal of frequent labels shows, in sentences, beside what the paper says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from seq2set.experiments.claim import Claim
from seq2set.experiments.claims import ABOVE, BELOW, NOT_BELOW, judged
from seq2set.experiments.lineup import title_of
from seq2set.experiments.margins import Contrast, Terms, contrasts, difference, minus, signed
from seq2set.experiments.removal import Lead, Step
from seq2set.experiments.removal_tables import leads_of

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
