"""What the sets that a set beam found are worth: the sum over their orders, each scored by the decoder.

A set beam adds up the orders that it met, and lets the likeliest of them speak for the rest; the sums are
therefore near, but not right. Here a set of up to `EXACT` labels is scored in all its orders, exactly. A
larger one has too many: its sum is estimated from `DRAWS` orders, each drawn label by label from what the
decoder gives to the labels that are left, and weighted by how much that was: a mean without bias.
All sets use the same random numbers, so that a document's answer depends
neither on its batch nor on the run.

Letters: B documents, K hypotheses per document, N sets of one size, n labels of each, P orders, S labels.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import torch
from torch import Tensor

from seq2set.nn.decoding.policy import Policy, S
from seq2set.nn.decoding.rollout import Picked, Turn, gumbel_noise, roll_out
from seq2set.nn.decoding.teacher_forcing import score_sequences

EXACT = 5
"""The largest set of which all orders are scored: 120 of them."""

DRAWS = 64
"""Orders that are drawn of a larger set."""

ROWS_AT_A_TIME = 4096
"""Orders that are scored at once, which bounds the memory."""


class Rescored(NamedTuple):
    """Sets with their own probabilities."""

    labels: Tensor
    """(B, K, S) in the likeliest order that was met"""
    log_prob: Tensor
    """(B, K) of that order"""
    set_log_prob: Tensor
    """(B, K) of the set"""


@torch.no_grad()
def rescore_sets(
    policy: Policy[S], labels: Tensor, log_prob: Tensor, max_steps: int | None = None
) -> Rescored:
    """Sum the probability of each set (B, K, S) over its orders; `log_prob` (B, K) is that of the order met.

    A place without a set has log-probability -inf, and keeps it.
    """
    labels, log_prob, sums = labels.clone(), log_prob.clone(), log_prob.clone()
    lengths = (labels < policy.labels).sum(-1).masked_fill(log_prob.isneginf(), 0)  # (B, K)
    for size in sorted(set(lengths.flatten().tolist())):
        if size < 2:  # of one order alone
            continue
        orders = math.factorial(size) if size <= EXACT else DRAWS
        every = (lengths == size).nonzero()  # (N, 2)
        for places in every.split(max(1, ROWS_AT_A_TIME // orders)):
            document, hypothesis = places.unbind(1)
            given = labels[document, hypothesis, :size]  # (N, n)
            part = policy.select(document)
            if size > EXACT:
                sums[document, hypothesis] = torch.maximum(
                    _estimate(part, given, max_steps), log_prob[document, hypothesis]
                )
                continue
            every_order = torch.tensor(list(itertools.permutations(range(size))), device=labels.device)
            sequences = given[:, every_order]  # (N, P, n)
            scores = score_sequences(part, sequences, max_steps=max_steps).log_prob  # (N, P)
            sums[document, hypothesis] = scores.logsumexp(1)
            best = scores.max(1)
            log_prob[document, hypothesis] = best.values
            labels[document, hypothesis, :size] = sequences[torch.arange(len(best.indices)), best.indices]
    return Rescored(labels, log_prob, sums)


def _estimate(policy: Policy[S], sets: Tensor, max_steps: int | None) -> Tensor:
    """Estimate the log-probability (N,) of sets (N, n) from orders of theirs drawn at random."""
    wanted = torch.zeros(len(sets), policy.labels + 1, dtype=torch.bool, device=sets.device)
    wanted = wanted.scatter(1, sets, True)
    generator = torch.Generator().manual_seed(1)

    def pick(turn: Turn) -> Picked:
        right = wanted[turn.documents][:, None] & ~turn.emitted  # (N', P', L + 1)
        right[..., -1] = ~right.any(-1)
        left = turn.log_probs.masked_fill(~right, float("-inf"))
        noise = gumbel_noise(DRAWS, policy.labels + 1, generator).to(left.device)[turn.hypotheses]
        return Picked((left + noise).argmax(-1), left.logsumexp(-1))

    weights = roll_out(policy, pick, hypotheses=DRAWS, max_steps=max_steps).log_prob  # (N, P)
    return weights.logsumexp(1) - math.log(DRAWS)
