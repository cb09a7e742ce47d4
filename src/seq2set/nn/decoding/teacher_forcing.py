"""Decoding along given labels: the likelihood of sequences, and likelihood without an order.

Letters: B documents, K hypotheses per document, S labels of the longest sequence, L labels, T words of a
source.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from seq2set.nn.decoder import DecoderPolicy, compute_log_probs, mark_emitted
from seq2set.nn.decoding.contributions import OutputLayer, StepReading, find_contributions
from seq2set.nn.decoding.prefixes import Reals, Symbols, limit_steps
from seq2set.nn.decoding.rollout import (
    Picked,
    Rollout,
    Turn,
    begin,
    drop_hypotheses,
    list_rows,
    make_mask,
    narrow,
    regroup,
    roll_out,
)


class Scores(NamedTuple):
    """How likely given sequences are; of the shape of the sequences, with or without the axis K."""

    steps: Tensor
    """(B, K, S + 1) log-probability of each label given those before, then of `eos`; 0 after it"""

    @property
    def log_prob(self) -> Tensor:
        """The log-probability (B, K) of the whole sequence, `eos` included."""
        return self.steps.sum(-1)


class _Step(NamedTuple):
    features: Tensor
    """(B', K', D)"""
    emitted: Tensor
    """(B', K', L + 1)"""


def score_sequences(policy: DecoderPolicy, labels: Tensor, *, max_steps: int | None = None) -> Scores:
    """Score sequences (B, S) or (B, K, S) that are padded with `pad`, with their gradients.

    This is the sum in L(phi), under the mask of eq. 6: a sequence that repeats a label has log-probability
    -inf. Under a limit of `max_steps` labels, as searches have one, the `eos` of a sequence of that length
    is forced and counts 0, and a longer sequence has log-probability -inf. The output layer runs once for
    each stretch of steps in which no row leaves.
    """
    if labels.dim() == 2:
        return Scores(score_sequences(policy, labels[:, None], max_steps=max_steps).steps[:, 0])
    limit = limit_steps(policy.labels, max_steps)
    targets = _end(labels, Symbols(policy.labels))  # (B, K, S + 1)
    lengths = (labels < policy.labels).sum(-1)  # (B, K)
    rows, longest = list_rows(policy.documents, labels.shape[1], policy.device), int(lengths.max())
    state, emitted = begin(policy, labels.shape[1]), make_mask(policy, labels.shape[1])
    whole, stretch, pieces = targets.shape, [], []
    for step in range(longest + 1):
        stretch.append(_Step(state.features, emitted))
        leaving = regroup(lengths <= step)
        if leaving or step == longest:
            taken = _score(policy, stretch, targets[..., step + 1 - len(stretch) : step + 1])
            pieces.append(rows.spread(taken, taken.new_zeros(*whole[:2], len(stretch))))
            stretch = []
        if leaving:
            policy, state, rows = (
                narrow(policy, leaving.documents),
                state.map(leaving.take),
                leaving.of(rows),
            )
            emitted, targets, lengths = map(leaving.take, (emitted, targets, lengths))
        if step < longest:
            emitted = mark_emitted(emitted, targets[..., step])
            state = policy.advance(state, targets[..., step])
    steps = functional.pad(torch.cat(pieces, -1), (0, whole[-1] - longest - 1))
    place = torch.arange(whole[-1], device=steps.device)
    steps = steps.masked_fill(place > (labels < policy.labels).sum(-1)[..., None], 0.0)
    return Scores(_limit(steps, labels < policy.labels, limit))


def _limit(steps: Tensor, there: Tensor, limit: int) -> Tensor:
    """Count the step after the last label that the limit allows: a forced `eos`, or a label too many."""
    if limit >= steps.shape[-1]:
        return steps
    beyond = there[..., limit] if limit < there.shape[-1] else torch.zeros_like(there[..., 0])  # (B, K)
    last = torch.zeros_like(steps[..., limit]).masked_fill(beyond, float("-inf"))
    return torch.cat([steps[..., :limit], last[..., None], steps[..., limit + 1 :]], -1)


def _score(policy: DecoderPolicy, stretch: list[_Step], targets: Tensor) -> Tensor:
    """Score targets (B', K', n) of n steps, with one run of the output layer."""
    logits = policy.logits(torch.cat([step.features for step in stretch], 1))  # (B', n K', L + 1)
    log_probs = compute_log_probs(logits, torch.cat([step.emitted for step in stretch], 1))
    wanted = targets.transpose(1, 2)  # (B', n, K')
    return log_probs.gather(-1, wanted.flatten(1)[..., None]).view(wanted.shape).transpose(1, 2)


def score_sets(policy: DecoderPolicy, gold: Tensor) -> Rollout:
    """Decode along label sets (B, L): at each step every gold label not yet emitted is right.

    A step counts the log of the summed probability of all that is right, and goes on with the likeliest of
    it; `eos` is right only when nothing else is left.
    """

    def pick(turn: Turn) -> Picked:
        wanted = functional.pad(gold.index_select(0, turn.documents), (0, 1))[:, None]
        right = wanted & ~turn.emitted  # (B', 1, L + 1)
        right[..., -1] = ~right.any(-1)
        log_probs = turn.log_probs.masked_fill(~right, float("-inf"))
        return Picked(log_probs.argmax(-1), log_probs.logsumexp(-1))

    return drop_hypotheses(roll_out(policy, pick))


def find_contributions_along(policy: DecoderPolicy, labels: Tensor) -> Tensor:
    """Return what the words of the first source add to each label of sequences (B, S): (B, S, T)."""
    state, emitted, steps = begin(policy, 1), make_mask(policy, 1), []
    layer = OutputLayer(_to_numpy(policy.decoder.readout.weight), _to_numpy(policy.decoder.W_o.weight))
    values = policy.memories[0].values
    for symbols in labels.mT:
        likely = compute_log_probs(policy.logits(state.features), emitted).exp()
        parts = state.features[:, 0], state.attention[0][:, 0], values, likely[:, 0]
        reading = StepReading(*map(_to_numpy, parts))
        steps.append(torch.from_numpy(find_contributions(reading, symbols.numpy(force=True), layer)))
        emitted = mark_emitted(emitted, symbols[:, None])
        state = policy.advance(state, symbols[:, None])
    return torch.stack(steps, 1) if steps else values.new_zeros(len(labels), 0, values.shape[1])


def _to_numpy(part: Tensor) -> Reals:
    found: Reals = part.float().numpy(force=True)
    return found


def _end(labels: Tensor, symbols: Symbols) -> Tensor:
    """Append `eos` to sequences (B, K, S), and replace `pad` by it: (B, K, S + 1)."""
    return functional.pad(labels, (0, 1), value=symbols.eos).clamp(max=symbols.eos)
