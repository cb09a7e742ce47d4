"""Beam search over sequences, and over sets: the latter merges hypotheses that hold the same labels.

A hypothesis' score is the sum of its log-probabilities, `eos` included, without any correction for length:
an ended hypothesis keeps its place as long as it is among the best, and a search is over when all have ended.

In a set beam the orders of one set count together: their probabilities are added, and the likeliest order
goes on as their representative. The sets that were found are then scored again in all their orders (see
`rescoring`): of these sets the probabilities are exact up to `rescoring.EXACT` labels, and estimated beyond.
A set that the beam never met is not found.

Letters: B documents, B' of them still there, K hypotheses per document, S labels so far, L labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from seq2set.core.errors import InputError
from seq2set.nn.decoding.prefixes import (
    Bools,
    Ints,
    Prefixes,
    Reals,
    StepDecoder,
    Symbols,
    begin,
    limit_steps,
)
from seq2set.nn.decoding.rescoring import rescore_sets

WIDER = 4
"""How many times the sets that it returns a set beam keeps at each step."""

RESCORED = 2
"""How many times the sets that it returns are scored again in all their orders."""


class Hypotheses(NamedTuple):
    """The best label sequences of each document, best first; a place without one has log-probability -inf."""

    labels: Ints
    """(B, K, S) in the order emitted, `pad` after the last"""
    lengths: Ints
    """(B, K) how many labels"""
    log_prob: Reals
    """(B, K) of this order, `eos` included"""
    set_log_prob: Reals
    """(B, K) of this set, or without sets the same as `log_prob`; the hypotheses are ranked by it"""

    def masks(self, labels: int) -> Bools:
        """Return the label sets as (B, K, L), true where a label was emitted."""
        sets = np.zeros((*self.lengths.shape, labels + 1), bool)
        np.put_along_axis(sets, self.labels.clip(max=labels), True, -1)
        return sets[..., :labels]


class _Beam(NamedTuple):
    documents: Ints
    """(B',)"""
    symbols: Ints
    """(B', K, S)"""
    log_prob: Reals
    """(B', K) of the order"""
    mass: Reals
    """(B', K) of the set"""
    finished: Bools
    """(B', K)"""
    rows: Ints
    """(B', K) the prefix at which each stands that has not ended; of no meaning for the others"""

    def pick(self, chosen: Bools) -> _Beam:
        """Keep some of the documents."""
        return _Beam(*(part[chosen] for part in self))


class _Best(NamedTuple):
    parents: Ints
    symbols: Ints
    mass: Reals


def search_beam(decoder: StepDecoder, *, width: int, max_steps: int | None = None) -> Hypotheses:
    """Keep the `width` likeliest sequences of each document at each step."""
    return _search(begin(decoder), width, max_steps, merge=False)


def search_set_beam(decoder: StepDecoder, *, width: int, max_steps: int | None = None) -> Hypotheses:
    """Return the `width` likeliest sets of each document that were met; the orders of a set count together.

    The search keeps more sets at each step than it returns: a set that is likely in many orders may begin
    with an unlikely step in each of them.
    """
    first = begin(decoder)
    if width <= 1:  # greedy decoding, which ranks nothing, or refused
        return _search(first, width, max_steps, merge=True)
    found = _keep_first(_search(first, WIDER * width, max_steps, merge=True), RESCORED * width)
    again = rescore_sets(first, found.labels, found.log_prob, max_steps)
    order = np.argsort(-again.set_log_prob, axis=1, kind="stable")
    ranked = (again.labels, found.lengths, again.log_prob, again.set_log_prob)
    return _keep_first(Hypotheses(*(_take(part, order) for part in ranked)), width)


def _search(prefixes: Prefixes, width: int, max_steps: int | None, *, merge: bool) -> Hypotheses:
    if width < 1:
        raise InputError(f"width is {width}; a beam must be >= 1 wide")
    labels, total = prefixes.decoder.labels, len(prefixes.documents)
    limit, beam, ended = limit_steps(labels, max_steps), _start_beam(total, width), []
    for step in range(limit + 1):
        log_probs = _extend(prefixes, beam, last=step == limit)
        beam, picked = _grow(beam, _choose(prefixes, beam, log_probs, merge), log_probs)
        over: Bools = np.all(beam.finished, axis=1)
        ended.append(beam.pick(over))
        if over.all():
            break
        beam, picked = beam.pick(~over), picked[~over]
        live = ~beam.finished
        prefixes, at = prefixes.grow(beam.rows[live], picked[live])
        beam.rows[...] = 0
        beam.rows[live] = at
    return _gather(ended, total, Symbols(labels))


def _keep_first(found: Hypotheses, count: int) -> Hypotheses:
    labels, *rest = (part[:, :count] for part in found)
    return Hypotheses(labels[..., : int(found.lengths[:, :count].max())], *rest)


def _start_beam(documents: int, width: int) -> _Beam:
    """One empty hypothesis per document; the other places are free."""
    log_prob = np.zeros((documents, width), np.float32)
    log_prob[:, 1:] = -np.inf
    every = np.arange(documents)
    rows = np.repeat(every[:, None], width, 1)
    symbols = np.zeros((documents, width, 0), np.int64)
    return _Beam(every, symbols, log_prob, log_prob, np.zeros(rows.shape, bool), rows)


def _extend(prefixes: Prefixes, beam: _Beam, *, last: bool) -> Reals:
    """Log-probabilities (B', K, L + 1) of what may come next.

    An ended hypothesis stays as it is, at no cost, and at the limit the end has no alternative to cost any.
    """
    log_probs = prefixes.log_probs[beam.rows]
    closed = np.ones_like(beam.finished) if last else beam.finished
    log_probs[closed] = -np.inf
    log_probs[closed, -1] = 0.0
    return log_probs


def _choose(prefixes: Prefixes, beam: _Beam, log_probs: Reals, merge: bool) -> _Best:
    """Choose the best extensions of all hypotheses of a document."""
    scores = beam.mass[..., None] + log_probs  # (B', K, L + 1)
    if merge and beam.symbols.shape[-1] > 0:
        live = ~beam.finished & ~np.isneginf(beam.mass)
        held = Held(beam.symbols, prefixes.emitted[beam.rows], live)
        scores = merge_scores(scores, beam.log_prob[..., None] + log_probs, held)
    documents, width, outputs = scores.shape
    flat = scores.reshape(documents, -1)
    places = np.sort(np.argpartition(-flat, width - 1, axis=1)[:, :width], axis=1)
    mass = np.take_along_axis(flat, places, 1)
    order = np.argsort(-mass, axis=1, kind="stable")
    mass, places = np.take_along_axis(mass, order, 1), np.take_along_axis(places, order, 1)
    return _Best(places // outputs, np.where(np.isneginf(mass), outputs - 1, places % outputs), mass)


class _Growth(NamedTuple):
    beam: _Beam
    symbols: Ints


def _grow(beam: _Beam, best: _Best, log_probs: Reals) -> _Growth:
    """Extend the chosen hypotheses; a place for which none was left counts as ended."""
    eos, every = log_probs.shape[-1] - 1, np.arange(len(log_probs))[:, None]
    parents, symbols = best.parents, best.symbols
    ended = symbols == eos
    new = np.where(ended, Symbols(eos).pad, symbols)[..., None]
    log_prob = _take(beam.log_prob, parents) + log_probs[every, parents, symbols]
    grown = _Beam(
        beam.documents,
        np.concatenate([_take(beam.symbols, parents), new], -1),
        np.where(np.isneginf(best.mass), -np.inf, log_prob).astype(log_prob.dtype),
        best.mass,
        _take(beam.finished, parents) | ended,
        _take(beam.rows, parents),
    )
    return _Growth(grown, symbols)


def _take(part: Any, parents: Ints) -> Any:
    """Take the hypotheses (B', K, ..) that were extended."""
    return part[np.arange(len(part))[:, None], parents]


def _gather(ended: list[_Beam], total: int, symbols: Symbols) -> Hypotheses:
    """Put all documents in their places."""
    width, longest = ended[-1].symbols.shape[1:]
    labels = np.full((total, width, longest), symbols.pad)
    log_prob = np.empty((total, width), ended[-1].mass.dtype)
    mass = np.empty_like(log_prob)
    for beam in ended:
        labels[beam.documents, :, : beam.symbols.shape[-1]] = beam.symbols
        log_prob[beam.documents], mass[beam.documents] = beam.log_prob, beam.mass
    labels[np.isneginf(mass)] = symbols.pad
    lengths = (labels < symbols.eos).sum(-1)
    return Hypotheses(labels[..., : int(lengths.max())], lengths, log_prob, mass)


class Held(NamedTuple):
    """What the hypotheses of a step hold."""

    symbols: Ints
    """(B, K, S)"""
    emitted: Bools
    """(B, K, L + 1) the same as a mask"""
    live: Bools
    """(B, K) true where a hypothesis can go on"""


class _Meeting(NamedTuple):
    label: Ints
    """(B, K, K) what the first lacks of the second; `eos` where they do not meet"""
    meet: Bools
    """(B, K, K)"""

    def of_other(self, scores: Reals) -> Reals:
        """Score (B, K, K) of the second hypothesis when it takes what it lacks of the first."""
        own = np.take_along_axis(scores, self.label, 2)
        theirs: Reals = np.where(self.meet, own.swapaxes(1, 2), np.float32(-np.inf))
        return theirs


def merge_scores(scores: Reals, orders: Reals, held: Held) -> Reals:
    """Add up scores (B, K, L + 1) of extensions that make one set; they stay with its likeliest order.

    All live hypotheses of a step hold equally many labels and no two the same, so two of them make one set in
    the next step exactly when each lacks one label of the other, and by taking that label alone. The places
    to merge are therefore K x K per document and known, whatever the number of labels.

    `orders` has the scores of the extensions as sequences, which say what the likeliest order is.
    """
    meeting = _meet(held, scores.shape[-1] - 1)
    total: Reals = scores.copy()
    partners = meeting.of_other(scores)
    for other in range(partners.shape[-1]):
        place = meeting.label[..., other : other + 1]
        joint = np.logaddexp(np.take_along_axis(total, place, 2), partners[..., other : other + 1])
        np.put_along_axis(total, place, joint, 2)
    total[_mark_represented(orders, meeting)] = -np.inf
    return total


def _meet(held: Held, eos: int) -> _Meeting:
    batch, width, _ = held.symbols.shape
    theirs = held.symbols.clip(max=eos)[:, None]  # (B, 1, K, S)
    first, second = np.arange(batch)[:, None, None, None], np.arange(width)[None, :, None, None]
    lacks = ~held.emitted[first, second, theirs]  # (B, K, K, S)
    meet = (lacks.sum(-1) == 1) & held.live[:, :, None] & held.live[:, None]
    return _Meeting(np.where(meet, (theirs * lacks).sum(-1), eos), meet)


def _mark_represented(orders: Reals, meeting: _Meeting) -> Bools:
    """Mark (B, K, L + 1) an extension whose set another hypothesis reaches by a likelier order."""
    eos = orders.shape[-1] - 1
    own, rivals = np.take_along_axis(orders, meeting.label, 2), meeting.of_other(orders)
    first = np.tri(own.shape[1], k=-1, dtype=bool)  # of equally likely orders the first one stays
    beaten = meeting.meet & ((rivals > own) | ((rivals == own) & first))
    represented = np.zeros(orders.shape, bool)
    np.put_along_axis(represented, np.where(beaten, meeting.label, eos), True, 2)
    represented[..., eos] = False
    return represented
