"""Beam search over sequences, and over sets: the latter merges hypotheses that hold the same labels.

A hypothesis' score is the sum of its log-probabilities, `eos` included, without any correction for length:
an ended hypothesis keeps its place as long as it is among the best, and a search is over when all have ended.

In a set beam the orders of one set count together: their probabilities are added, and the likeliest order
goes on as their representative. The sets that were found are then scored again in all their orders (see
`rescoring`): of these sets the probabilities are exact up to `rescoring.EXACT` labels, and estimated beyond.
A set that the beam never met is not found.

Letters: B documents, K hypotheses per document, S labels so far, L labels.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from seq2set.core.errors import InputError
from seq2set.nn.decoder import Symbols, compute_log_probs, mark_emitted
from seq2set.nn.decoding.policy import Policy, S
from seq2set.nn.decoding.rescoring import rescore_sets
from seq2set.nn.decoding.rollout import begin, label_masks, limit_steps, new_mask, worth_leaving

WIDER = 4
"""How many times the sets that it returns a set beam keeps at each step."""

RESCORED = 2
"""How many times the sets that it returns are scored again in all their orders."""


class Hypotheses(NamedTuple):
    """The best label sequences of each document, best first; a place without one has log-probability -inf."""

    labels: Tensor
    """(B, K, S) in the order emitted, `pad` after the last"""
    lengths: Tensor
    """(B, K) how many labels"""
    log_prob: Tensor
    """(B, K) of this order, `eos` included"""
    set_log_prob: Tensor
    """(B, K) of this set, or without sets the same as `log_prob`; the hypotheses are ranked by it"""

    def masks(self, labels: int) -> Tensor:
        """Return the label sets as (B, K, L), true where a label was emitted."""
        return label_masks(self.labels, labels)


class _Beam(NamedTuple):
    symbols: Tensor
    """(B', K, S)"""
    log_prob: Tensor
    """(B', K) of the order"""
    mass: Tensor
    """(B', K) of the set"""
    finished: Tensor
    """(B', K)"""
    emitted: Tensor
    """(B', K, L + 1)"""


class _Best(NamedTuple):
    parents: Tensor
    symbols: Tensor
    mass: Tensor


class _Ended(NamedTuple):
    documents: Tensor
    beam: _Beam


def beam_search(policy: Policy[S], *, width: int, max_steps: int | None = None) -> Hypotheses:
    """Keep the `width` likeliest sequences of each document at each step."""
    return _search(policy, width, max_steps, merge=False)


def set_beam_search(policy: Policy[S], *, width: int, max_steps: int | None = None) -> Hypotheses:
    """Return the `width` likeliest sets of each document that were met; the orders of a set count together.

    The search keeps more sets at each step than it returns: a set that is likely in many orders may begin
    with an unlikely step in each of them.
    """
    if width <= 1:  # greedy decoding, which ranks nothing, or refused
        return _search(policy, width, max_steps, merge=True)
    found = _search(policy, WIDER * width, max_steps, merge=True)
    found = _rank_again(policy, _keep_first(found, RESCORED * width), max_steps)
    return _keep_first(found, width)


@torch.no_grad()
def _search(policy: Policy[S], width: int, max_steps: int | None, *, merge: bool) -> Hypotheses:
    if width < 1:
        raise InputError(f"width is {width}; a beam must be >= 1 wide")
    total, limit, symbols = policy.documents, limit_steps(policy, max_steps), Symbols(policy.labels)
    beam, state, ended = _new_beam(policy, width), begin(policy, width), []
    documents = torch.arange(total, device=policy.device)
    for step in range(limit + 1):
        log_probs = _extend(policy.logits(state.features), beam, last=step == limit)
        best = _choose(beam, log_probs, merge)
        beam = _grow(beam, best, log_probs, symbols)
        over = beam.finished.all(1)
        if over.all():
            break
        state = state.map(lambda part: _take_parents(part, best.parents))  # noqa: B023
        previous = best.symbols.masked_fill(beam.finished, symbols.pad)
        if worth_leaving(int((~over).sum()), len(over)):
            alive = (~over).nonzero()[:, 0]
            ended.append(_Ended(documents[over], _take_rows(beam, over)))
            policy, state = policy.select(alive), state.map(lambda part: part.index_select(0, alive))  # noqa: B023
            beam, previous, documents = _take_rows(beam, alive), previous[alive], documents[alive]
        state = policy.advance(state, previous)
    ended.append(_Ended(documents, beam))
    return _gather(ended, total, symbols)


def _rank_again(policy: Policy[S], found: Hypotheses, max_steps: int | None) -> Hypotheses:
    """Give each set its own probability, and the sets of a document their ranks by it."""
    again = rescore_sets(policy, found.labels, found.log_prob, max_steps)
    order = again.set_log_prob.argsort(dim=1, descending=True, stable=True)
    return Hypotheses(
        _take_parents(again.labels, order),
        _take_parents(found.lengths, order),
        _take_parents(again.log_prob, order),
        _take_parents(again.set_log_prob, order),
    )


def _keep_first(found: Hypotheses, count: int) -> Hypotheses:
    lengths = found.lengths[:, :count]
    longest = int(lengths.max())
    return Hypotheses(
        found.labels[:, :count, :longest],
        lengths,
        found.log_prob[:, :count],
        found.set_log_prob[:, :count],
    )


def _new_beam(policy: Policy[S], width: int) -> _Beam:
    """One empty hypothesis per document; the other places are free."""
    emitted = new_mask(policy, width)
    log_prob = torch.zeros(emitted.shape[:2], device=policy.device)
    log_prob[:, 1:] = float("-inf")
    symbols = torch.empty(*emitted.shape[:2], 0, dtype=torch.long, device=policy.device)
    return _Beam(symbols, log_prob, log_prob, emitted[..., 0], emitted)


def _extend(logits: Tensor, beam: _Beam, *, last: bool) -> Tensor:
    """Log-probabilities of what may come next.

    An ended hypothesis stays as it is, at no cost, and at the limit the end has no alternative to cost any.
    """
    log_probs = compute_log_probs(logits, beam.emitted)
    closed = torch.ones_like(beam.finished) if last else beam.finished
    log_probs[..., :-1].masked_fill_(closed[..., None], float("-inf"))
    log_probs[..., -1].masked_fill_(closed, 0.0)
    return log_probs


def _choose(beam: _Beam, log_probs: Tensor, merge: bool) -> _Best:
    """Choose the best extensions of all hypotheses of a document."""
    scores = beam.mass[..., None] + log_probs  # (B', K, L + 1)
    if merge and beam.symbols.shape[-1] > 0:
        live = ~beam.finished & ~beam.mass.isneginf()
        orders = beam.log_prob[..., None] + log_probs
        scores = merge_scores(scores, orders, Held(beam.symbols, beam.emitted, live))
    mass, places = scores.flatten(1).topk(scores.shape[1])  # (B', K)
    outputs = scores.shape[-1]
    symbols = (places % outputs).masked_fill(mass.isneginf(), outputs - 1)
    return _Best(places // outputs, symbols, mass)


def _grow(beam: _Beam, best: _Best, log_probs: Tensor, symbols: Symbols) -> _Beam:
    """Extend the chosen hypotheses; a place for which none was left counts as ended."""
    extended = beam.log_prob[..., None] + log_probs  # (B', K, L + 1)
    places = best.parents * log_probs.shape[-1] + best.symbols
    log_prob = extended.flatten(1).gather(1, places).masked_fill(best.mass.isneginf(), float("-inf"))
    emitted, old = _take_parents(beam.emitted, best.parents), _take_parents(beam.symbols, best.parents)
    new = best.symbols.masked_fill(best.symbols == symbols.eos, symbols.pad)[..., None]
    finished = beam.finished.gather(1, best.parents) | (best.symbols == symbols.eos)
    grown = torch.cat([old, new], -1)
    return _Beam(grown, log_prob, best.mass, finished, mark_emitted(emitted, best.symbols))


def _take_parents(part: Tensor, parents: Tensor) -> Tensor:
    """Take the rows (B', K, ..) of the hypotheses that were extended."""
    index = parents.reshape(*parents.shape, *[1] * (part.dim() - 2))
    return part.gather(1, index.expand(-1, -1, *part.shape[2:]))


def _take_rows(beam: _Beam, documents: Tensor) -> _Beam:
    return _Beam(*(part[documents] for part in beam))


def _gather(ended: list[_Ended], total: int, symbols: Symbols) -> Hypotheses:
    """Put all documents in their places."""
    longest, width = ended[-1].beam.symbols.shape[-1], ended[-1].beam.mass.shape[1]
    labels = ended[-1].beam.symbols.new_full((total, width, longest), symbols.pad)
    log_prob = ended[-1].beam.mass.new_empty(total, width)
    mass = torch.empty_like(log_prob)
    for documents, beam in ended:
        labels[documents, :, : beam.symbols.shape[-1]] = beam.symbols
        log_prob[documents], mass[documents] = beam.log_prob, beam.mass
    labels = labels.masked_fill(mass.isneginf()[..., None], symbols.pad)
    lengths = (labels < symbols.eos).sum(-1)
    return Hypotheses(labels[..., : int(lengths.max())], lengths, log_prob, mass)


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


def merge_scores(scores: Tensor, orders: Tensor, held: Held) -> Tensor:
    """Add up scores (B, K, L + 1) of extensions that make one set; they stay with its likeliest order.

    All live hypotheses of a step hold equally many labels and no two the same, so two of them make one set in
    the next step exactly when each lacks one label of the other, and by taking that label alone. The places
    to merge are therefore K x K per document and known, whatever the number of labels.

    `orders` has the scores of the extensions as sequences, which say what the likeliest order is.
    """
    meeting = _meet(held, scores.shape[-1] - 1)
    total, partners = scores, meeting.of_other(scores)
    for other in range(partners.shape[-1]):
        place = meeting.label[..., other : other + 1]
        joint = torch.logaddexp(total.gather(2, place), partners[..., other : other + 1])
        total = total.scatter(2, place, joint)
    return total.masked_fill(_mark_represented(orders, meeting), float("-inf"))


def _meet(held: Held, eos: int) -> _Meeting:
    width = held.live.shape[1]
    theirs = held.symbols.clamp(max=eos)[:, None].expand(-1, width, -1, -1)  # (B, K, K, S)
    mine = held.emitted[:, :, None].expand(-1, -1, width, -1)  # (B, K, K, L + 1)
    lacks = ~mine.gather(3, theirs)  # (B, K, K, S)
    meet = (lacks.sum(-1) == 1) & held.live[:, :, None] & held.live[:, None]
    return _Meeting((theirs * lacks).sum(-1).masked_fill(~meet, eos), meet)


def _mark_represented(orders: Tensor, meeting: _Meeting) -> Tensor:
    """Mark (B, K, L + 1) an extension whose set another hypothesis reaches by a likelier order."""
    eos = orders.shape[-1] - 1
    own, rivals = orders.gather(2, meeting.label), meeting.of_other(orders)
    first = torch.ones_like(meeting.meet[0]).tril(-1)  # of equally likely orders the first one stays
    beaten = meeting.meet & ((rivals > own) | ((rivals == own) & first))
    represented = torch.zeros_like(orders, dtype=torch.bool)
    represented = represented.scatter(2, meeting.label.masked_fill(~beaten, eos), True)
    represented[..., eos] = False
    return represented
