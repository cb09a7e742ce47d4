"""Rollouts: one label after another until `eos`, chosen by whatever rule is given.

A rollout emits at most `max_steps` labels, by default as many as there are; then only `eos` is left, and its
probability is 1, whatever the model would have given it: the probabilities of all sequences within the limit
sum to 1, as the policy gradient needs them. Rows that have ended leave the batch.

Letters: B documents, K hypotheses a document, S labels of the longest hypothesis, T places of a source,
L labels, H hidden units; B' and K' of them still there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from seq2set.core.errors import InputError
from seq2set.nn.attention import Source
from seq2set.nn.decoding.policy import (
    Policy,
    Rows,
    S,
    Symbols,
    all_rows,
    masked_log_probs,
    narrowed,
    nothing_emitted,
    opened,
    regrouping,
    step_limit,
    with_emitted,
)


class Rollout(NamedTuple):
    """Label sequences; from `greedy` without the axis K."""

    labels: Tensor
    """(B, K, S) in the order emitted, `pad` after the last"""
    lengths: Tensor
    """(B, K) how many labels"""
    steps: Tensor
    """(B, K, S + 1) log-probability of each step, `eos` included; 0 after it"""
    states: Tensor | None = None
    """(B, K, S + 1, H) the states that emitted, the one of `eos` included; 0 after it"""
    attention: tuple[Tensor, ...] = ()
    """(B, K, S, T) for each source: where each label looked; 0 after the last"""

    @property
    def log_prob(self) -> Tensor:
        """The log-probability (B, K) of the whole sequence, `eos` included."""
        return self.steps.sum(-1)

    @property
    def source(self) -> Source:
        """The states of a greedy rollout as something to attend to, as D2 does: up to and including `eos`."""
        if self.states is None:
            raise InputError("this rollout has no states; ask the search to keep them with keep_states=True")
        place = torch.arange(self.states.shape[-2], device=self.states.device)
        return Source(self.states, place <= self.lengths[..., None])

    def masks(self, labels: int) -> Tensor:
        """Return the label sets as (B, K, L), true where a label was emitted."""
        return label_masks(self.labels, labels)


class Turn(NamedTuple):
    """What a choice of the next symbol may look at."""

    log_probs: Tensor
    """(B', K', L + 1)"""
    emitted: Tensor
    """(B', K', L + 1) true for a label already emitted"""
    documents: Tensor
    """(B',) which documents of the batch are still there"""
    hypotheses: Tensor
    """(B', K') which of their hypotheses"""
    finished: Tensor
    """(B', K') true for one that has ended; what is chosen for it does not count"""


class Picked(NamedTuple):
    """The next symbols and what they count."""

    symbols: Tensor
    """(B', K')"""
    log_probs: Tensor
    """(B', K')"""


class _Kept(NamedTuple):
    rows: Rows
    symbols: Tensor
    log_probs: Tensor
    parts: tuple[Tensor, ...]


def label_masks(labels: Tensor, count: int) -> Tensor:
    """Give label sequences (.., S) as sets: (.., L) true where a label is present."""
    empty = torch.zeros(*labels.shape[:-1], count + 1, dtype=torch.bool, device=labels.device)
    return empty.scatter(-1, labels.clamp(max=count), True)[..., :count]


def roll_out(
    policy: Policy[S],
    pick: Callable[[Turn], Picked],
    *,
    hypotheses: int = 1,
    max_steps: int | None = None,
    keep_states: bool = False,
    keep_attention: bool = False,
) -> Rollout:
    """Step until every hypothesis has ended, with `pick` choosing the symbols."""
    symbols, limit = Symbols(policy.labels), step_limit(policy, max_steps)
    rows = all_rows(policy.documents, hypotheses, policy.device)
    state, emitted, kept = opened(policy, hypotheses), nothing_emitted(policy, hypotheses), []
    finished = emitted[..., 0]  # (B', K')
    for step in range(limit + 1):
        log_probs = masked_log_probs(policy.logits(state.features), emitted)
        turn = Turn(log_probs, emitted, rows.documents, rows.hypotheses, finished)
        picked = pick(turn) if step < limit else _forced(turn, symbols)
        parts = (state.output,) * keep_states + state.attention * keep_attention
        kept.append(_keep(rows, picked, parts, finished, symbols))
        finished = finished | (picked.symbols == symbols.eos)
        if finished.all():
            break
        emitted = with_emitted(emitted, picked.symbols)
        previous = picked.symbols.masked_fill(finished, symbols.pad)
        if leaving := regrouping(finished):
            policy, state, rows = (
                narrowed(policy, leaving.documents),
                state.map(leaving.taken),
                leaving.of(rows),
            )
            emitted, finished, previous = map(leaving.taken, (emitted, finished, previous))
        state = policy.advance(state, previous)
    return _gathered(kept, symbols, keep_states)


def counted(turn: Turn, symbols: Tensor) -> Picked:
    """Count symbols (B', K') with their own log-probability."""
    return Picked(symbols, turn.log_probs.gather(-1, symbols[..., None])[..., 0])


def _forced(turn: Turn, symbols: Symbols) -> Picked:
    """End every hypothesis: what has no alternative has probability 1, and so teaches nothing."""
    ending = torch.full(turn.finished.shape, symbols.eos, device=turn.finished.device)
    return Picked(ending, turn.log_probs.new_zeros(turn.finished.shape))


def gumbel_noise(samples: int, outputs: int, generator: torch.Generator) -> Tensor:
    """Return noise (K, L + 1) after which the likeliest symbol is a draw from the distribution itself."""
    uniform = torch.rand(samples, outputs, generator=generator).clamp(1e-20, 1 - 1e-7)
    return -torch.log(-torch.log(uniform))


def without_hypotheses(rollout: Rollout) -> Rollout:
    """Drop the axis K of a rollout of one hypothesis a document."""
    states = None if rollout.states is None else rollout.states[:, 0]
    attention = tuple(weights[:, 0] for weights in rollout.attention)
    return Rollout(rollout.labels[:, 0], rollout.lengths[:, 0], rollout.steps[:, 0], states, attention)


def _keep(rows: Rows, picked: Picked, parts: tuple[Tensor, ...], finished: Tensor, symbols: Symbols) -> _Kept:
    """Blank what belongs to hypotheses that had ended before."""
    labels = picked.symbols.masked_fill(finished | (picked.symbols == symbols.eos), symbols.pad)
    blanked = tuple(part.masked_fill(finished[..., None], 0.0) for part in parts)
    return _Kept(rows, labels, picked.log_probs.masked_fill(finished, 0.0), blanked)


def _gathered(kept: list[_Kept], symbols: Symbols, with_states: bool) -> Rollout:
    """Put the steps side by side, all rows in their places."""
    labels = _side_by_side([(k.rows, k.symbols) for k in kept], symbols.pad)
    steps = _side_by_side([(k.rows, k.log_probs) for k in kept])
    count = len(kept[0].parts)
    parts = [_side_by_side([(k.rows, k.parts[number]) for k in kept]) for number in range(count)]
    states = parts.pop(0) if with_states else None
    lengths, nothing = (labels < symbols.eos).sum(-1), (labels[..., :-1] >= symbols.eos)[..., None]
    attention = tuple(part[:, :, :-1].masked_fill(nothing, 0.0) for part in parts)
    return Rollout(labels[..., :-1], lengths, steps, states, attention)


def _side_by_side(steps: list[tuple[Rows, Tensor]], fill: float = 0.0) -> Tensor:
    """Stack the steps' values (B', K', ..), blank where a row was gone: (B, K, S + 1, ..)."""
    blank = torch.full_like(steps[0][1], fill, requires_grad=False)
    return torch.stack([rows.spread(part, blank) for rows, part in steps], 2)
