"""The step of a set beam that counts the orders of one set together.

Their probabilities are added, and the likeliest order goes on as their representative. All live hypotheses
of a step hold equally many labels and no two the same, so two of them make one set in the next step exactly
when each lacks one label of the other, and by taking that label alone. The places to merge are therefore
K x K a document and known, whatever the number of labels.

Letters: B documents, K hypotheses a document, S labels so far, L labels.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Held(NamedTuple):
    """What the hypotheses of a step hold."""

    symbols: Tensor
    """(B, K, S)"""
    emitted: Tensor
    """(B, K, L + 1) the same as a mask"""
    live: Tensor
    """(B, K) true where a hypothesis can go on"""


class _Meeting(NamedTuple):
    label: Tensor
    """(B, K, K) what the first lacks of the second; `eos` where they do not meet"""
    meet: Tensor
    """(B, K, K)"""

    def of_other(self, scores: Tensor) -> Tensor:
        """Score (B, K, K) of the second hypothesis when it takes what it lacks of the first."""
        return scores.gather(2, self.label).mT.masked_fill(~self.meet, float("-inf"))


def merged_scores(scores: Tensor, orders: Tensor, held: Held) -> Tensor:
    """Add up scores (B, K, L + 1) of extensions that make one set; they stay with its likeliest order.

    `orders` has the scores of the extensions as sequences, which say what the likeliest order is.
    """
    meeting = _meeting(held, scores.shape[-1] - 1)
    total, partners = scores, meeting.of_other(scores)
    for other in range(partners.shape[-1]):
        place = meeting.label[..., other : other + 1]
        joint = torch.logaddexp(total.gather(2, place), partners[..., other : other + 1])
        total = total.scatter(2, place, joint)
    return total.masked_fill(_represented(orders, meeting), float("-inf"))


def _meeting(held: Held, eos: int) -> _Meeting:
    width = held.live.shape[1]
    theirs = held.symbols.clamp(max=eos)[:, None].expand(-1, width, -1, -1)  # (B, K, K, S)
    mine = held.emitted[:, :, None].expand(-1, -1, width, -1)  # (B, K, K, L + 1)
    lacks = ~mine.gather(3, theirs)  # (B, K, K, S)
    meet = (lacks.sum(-1) == 1) & held.live[:, :, None] & held.live[:, None]
    return _Meeting((theirs * lacks).sum(-1).masked_fill(~meet, eos), meet)


def _represented(orders: Tensor, meeting: _Meeting) -> Tensor:
    """Mark (B, K, L + 1) an extension whose set another hypothesis reaches by a likelier order."""
    eos = orders.shape[-1] - 1
    own, rivals = orders.gather(2, meeting.label), meeting.of_other(orders)
    first = torch.ones_like(meeting.meet[0]).tril(-1)  # of equally likely orders the first one stays
    beaten = meeting.meet & ((rivals > own) | ((rivals == own) & first))
    represented = torch.zeros_like(orders, dtype=torch.bool)
    represented = represented.scatter(2, meeting.label.masked_fill(~beaten, eos), True)
    represented[..., eos] = False
    return represented
