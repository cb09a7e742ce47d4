"""Rollouts: one label after another until `eos`; greedy, sampled, or picked by whatever rule is given.

A rollout emits at most `max_steps` labels, by default as many as there are; then only `eos` is left, and its
probability is 1, whatever the model would have given it: the probabilities of all sequences within the limit
sum to 1, as the policy gradient needs them.

The rows of a search are a grid, documents by hypotheses, so that the hypotheses of a document share its
memory. A document leaves when all its hypotheses have ended; in the others the live ones move together, and
the grid becomes as narrow as the document with the most of them allows.

Letters: B documents, K hypotheses per document, S labels of the longest hypothesis, L labels, H hidden
units; B' and K' of them still there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from seq2set.core.errors import InputError
from seq2set.nn.attention import Source
from seq2set.nn.decoder import DecoderPolicy, DecoderState, compute_log_probs, mark_emitted
from seq2set.nn.decoding.prefixes import Symbols, limit_steps
from seq2set.nn.noise import draw_uniform, mix_keys


class Rollout(NamedTuple):
    """Label sequences; from `roll_out_greedily` without the axis K."""

    labels: Tensor
    """(B, K, S) in the order emitted, `pad` after the last"""
    lengths: Tensor
    """(B, K) how many labels"""
    steps: Tensor
    """(B, K, S + 1) log-probability of each step, `eos` included; 0 after it"""
    states: Tensor | None = None
    """(B, K, S + 1, H) the states that emitted, the one of `eos` included; 0 after it"""

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
        return mark_labels(self.labels, labels)


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
    states: Tensor | None


def mark_labels(labels: Tensor, count: int) -> Tensor:
    """Give label sequences (.., S) as sets: (.., L) true where a label is present."""
    empty = torch.zeros(*labels.shape[:-1], count + 1, dtype=torch.bool, device=labels.device)
    return empty.scatter(-1, labels.clamp(max=count), True)[..., :count]


def roll_out_greedily(
    policy: DecoderPolicy, *, max_steps: int | None = None, keep_states: bool = False
) -> Rollout:
    """Emit the likeliest symbol at each step."""

    def pick(turn: Turn) -> Picked:
        return score_symbols(turn, turn.log_probs.argmax(-1))

    return drop_hypotheses(roll_out(policy, pick, max_steps=max_steps, keep_states=keep_states))


def sample(
    policy: DecoderPolicy,
    *,
    samples: int = 1,
    generator: torch.Generator | None = None,
    max_steps: int | None = None,
) -> Rollout:
    """Draw `samples` sequences per document, by the documents' keys or, without keys, by the generator."""
    if samples < 1:
        raise InputError(f"samples is {samples}; it must be >= 1")

    def draw(turn: Turn) -> Picked:
        if policy.keys is not None:
            return score_symbols(turn, _draw_by_keys(turn, policy.keys))
        weights = turn.log_probs.detach().exp().flatten(0, 1)
        symbols = torch.multinomial(weights, 1, generator=generator).view(turn.log_probs.shape[:2])
        return score_symbols(turn, symbols)

    return roll_out(policy, draw, hypotheses=samples, max_steps=max_steps)


def _draw_by_keys(turn: Turn, keys: Tensor) -> Tensor:
    """Draw symbols (B', K') with noise that depends on document, hypothesis and labels emitted so far alone.

    The likeliest symbol after Gumbel noise is a draw from the distribution itself.
    """
    own = mix_keys(mix_keys(keys[turn.documents][:, None], turn.hypotheses), turn.emitted.sum(-1))
    noise = -torch.log(-torch.log(draw_uniform(own, turn.log_probs.shape[-1])))
    return (turn.log_probs.detach() + noise).argmax(-1)


def roll_out(
    policy: DecoderPolicy,
    pick: Callable[[Turn], Picked],
    *,
    hypotheses: int = 1,
    max_steps: int | None = None,
    keep_states: bool = False,
) -> Rollout:
    """Step until every hypothesis has ended, with `pick` choosing the symbols."""
    symbols, limit = Symbols(policy.labels), limit_steps(policy.labels, max_steps)
    rows = list_rows(policy.documents, hypotheses, policy.device)
    state, emitted, kept = begin(policy, hypotheses), make_mask(policy, hypotheses), []
    finished = emitted[..., 0]  # (B', K')
    for step in range(limit + 1):
        log_probs = compute_log_probs(policy.logits(state.features), emitted)
        turn = Turn(log_probs, emitted, rows.documents, rows.hypotheses, finished)
        picked = pick(turn) if step < limit else _force_end(turn, symbols)
        kept.append(_keep(rows, picked, state.output if keep_states else None, finished, symbols))
        finished = finished | (picked.symbols == symbols.eos)
        if finished.all():
            break
        emitted = mark_emitted(emitted, picked.symbols)
        previous = picked.symbols.masked_fill(finished, symbols.pad)
        if leaving := regroup(finished):
            policy, state = narrow(policy, leaving.documents), state.map(leaving.take)
            rows = leaving.of(rows)
            emitted, finished, previous = map(leaving.take, (emitted, finished, previous))
        state = policy.advance(state, previous)
    return _gather(kept, symbols)


def begin(policy: DecoderPolicy, hypotheses: int) -> DecoderState:
    """Read `bos`: the state that emits the first label is the same for all hypotheses of a document."""
    state = policy.start()
    bos = torch.full((policy.documents, 1), Symbols(policy.labels).bos, device=policy.device)
    return policy.advance(state, bos).map(lambda part: part.expand(-1, hypotheses, -1))


def make_mask(policy: DecoderPolicy, hypotheses: int) -> Tensor:
    """Return the mask (B, K, L + 1) of eq. 7 before the first step."""
    outputs = Symbols(policy.labels).outputs
    return torch.zeros(policy.documents, hypotheses, outputs, dtype=torch.bool, device=policy.device)


def score_symbols(turn: Turn, symbols: Tensor) -> Picked:
    """Count symbols (B', K') with their own log-probability."""
    return Picked(symbols, turn.log_probs.gather(-1, symbols[..., None])[..., 0])


def _force_end(turn: Turn, symbols: Symbols) -> Picked:
    """End every hypothesis: what has no alternative has probability 1, and so teaches nothing."""
    ending = torch.full(turn.finished.shape, symbols.eos, device=turn.finished.device)
    return Picked(ending, turn.log_probs.new_zeros(turn.finished.shape))


def drop_hypotheses(rollout: Rollout) -> Rollout:
    """Drop the axis K of a rollout of one hypothesis per document."""
    return Rollout(*(None if part is None else part[:, 0] for part in rollout))  # type: ignore[arg-type]


def _keep(rows: Rows, picked: Picked, states: Tensor | None, finished: Tensor, symbols: Symbols) -> _Kept:
    """Blank what belongs to hypotheses that had ended before."""
    labels = picked.symbols.masked_fill(finished | (picked.symbols == symbols.eos), symbols.pad)
    states = None if states is None else states.masked_fill(finished[..., None], 0.0)
    return _Kept(rows, labels, picked.log_probs.masked_fill(finished, 0.0), states)


def _gather(kept: list[_Kept], symbols: Symbols) -> Rollout:
    """Put the steps side by side, all rows in their places."""
    labels = _stack_steps([(one.rows, one.symbols) for one in kept], symbols.pad)
    steps = _stack_steps([(one.rows, one.log_probs) for one in kept])
    states = [(one.rows, one.states) for one in kept if one.states is not None]
    lengths = (labels < symbols.eos).sum(-1)
    return Rollout(labels[..., :-1], lengths, steps, _stack_steps(states) if states else None)


def _stack_steps(steps: list[tuple[Rows, Tensor]], fill: float = 0.0) -> Tensor:
    """Stack the steps' values (B', K', ..), blank where a row was gone: (B, K, S + 1, ..)."""
    blank = torch.full_like(steps[0][1], fill, requires_grad=False)
    return torch.stack([rows.spread(part, blank) for rows, part in steps], 2)


class Rows(NamedTuple):
    """The rows still there, by their numbers in the whole grid."""

    documents: Tensor
    """(B',)"""
    hypotheses: Tensor
    """(B', K')"""

    def spread(self, part: Tensor, whole: Tensor) -> Tensor:
        """Put values (B', K', ..) into their places in `whole` (B, K, ..)."""
        if part.shape == whole.shape:
            return part
        return whole.index_put((self.documents[:, None], self.hypotheses), part)


class Regrouping(NamedTuple):
    """Which rows stay, by their numbers in the grid as it was."""

    documents: Tensor
    """(B',)"""
    hypotheses: Tensor
    """(B', K')"""

    def take(self, part: Tensor) -> Tensor:
        """Take values (B', K', ..) out of those of the grid as it was."""
        return part[self.documents[:, None], self.hypotheses]

    def of(self, rows: Rows) -> Rows:
        """Say which rows of the whole grid these are."""
        return Rows(rows.documents[self.documents], self.take(rows.hypotheses))


def list_rows(documents: int, hypotheses: int, device: torch.device) -> Rows:
    """Return the rows of a search that begins."""
    grid = torch.arange(hypotheses, device=device).expand(documents, -1)
    return Rows(torch.arange(documents, device=device), grid)


def is_worth_leaving(live: int, rows: int) -> bool:
    """Say whether so few rows are needed that copying them out pays."""
    return 0 < live <= 0.75 * rows


def regroup(finished: Tensor) -> Regrouping | None:
    """Say which rows stay when ended ones (B, K) leave, or nothing where it does not pay."""
    live = (~finished).sum(1)  # (B,)
    documents = live.nonzero()[:, 0]
    width = int(live.max())
    if not is_worth_leaving(len(documents) * width, finished.numel()):
        return None
    order = finished[documents].int().argsort(dim=1, stable=True)
    return Regrouping(documents, order[:, :width])


def narrow(policy: DecoderPolicy, documents: Tensor) -> DecoderPolicy:
    """Keep these documents, without copies where they are all."""
    return policy if len(documents) == policy.documents else policy.select(documents)
