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

import numpy as np

from seq2set.nn.decoding.prefixes import Ints, Prefixes, Reals, draw_noise, limit_steps

EXACT = 5
"""The largest set of which all orders are scored: 120 of them."""

DRAWS = 64
"""Orders that are drawn of a larger set."""

ORDERS_AT_A_TIME = 4096
"""Orders that are scored at once, which bounds the memory."""


class Rescored(NamedTuple):
    """Sets with their own probabilities."""

    labels: Ints
    """(B, K, S) in the likeliest order that was met"""
    log_prob: Reals
    """(B, K) of that order"""
    set_log_prob: Reals
    """(B, K) of the set"""


def log_sum(log_probs: Reals) -> Reals:
    """Return the log of the summed probabilities of the last axis."""
    top = log_probs.max(-1, keepdims=True)
    top[np.isneginf(top)] = 0
    with np.errstate(divide="ignore"):  # the log of nothing is -inf
        total: Reals = np.log(np.exp(log_probs - top).sum(-1)) + top[..., 0]
    return total


def rescore_sets(first: Prefixes, labels: Ints, log_prob: Reals, most: int | None = None) -> Rescored:
    """Sum the probability of each set (B, K, S) over its orders; `log_prob` (B, K) is that of the order met.

    A place without a set has log-probability -inf, and keeps it.
    """
    labels, log_prob, sums = labels.copy(), log_prob.copy(), log_prob.copy()
    limit = limit_steps(first.decoder.labels, most)
    lengths = np.where(np.isneginf(log_prob), 0, (labels < first.decoder.labels).sum(-1))  # (B, K)
    for size in range(2, int(lengths.max()) + 1):  # a smaller set has one order alone
        sets = np.argwhere(lengths == size)  # (N, 2)
        orders = math.factorial(size) if size <= EXACT else DRAWS
        for start in range(0, len(sets), max(1, ORDERS_AT_A_TIME // orders)):
            where = tuple(sets[start : start + max(1, ORDERS_AT_A_TIME // orders)].T)  # document, hypothesis
            given = labels[where][:, :size]  # (N, n)
            if size > EXACT:
                sums[where] = np.maximum(_estimate(first, where[0], given, limit), log_prob[where])
                continue
            sequences = given[:, np.array(list(itertools.permutations(range(size))))]  # (N, P, n)
            scores = _score(first, where[0], sequences, limit)  # (N, P)
            best = (np.arange(len(given)), scores.argmax(1))
            sums[where], log_prob[where] = log_sum(scores), scores[best]
            labels[where[0], where[1], :size] = sequences[best]
    return Rescored(labels, log_prob, sums)


def _score(prefixes: Prefixes, documents: Ints, sequences: Ints, limit: int) -> Reals:
    """Return the log-probability (N, P) of sequences (N, P, n) of each document, `eos` included."""
    at = np.repeat(documents, sequences.shape[1])
    total = np.zeros(len(at), prefixes.log_probs.dtype)
    for labels in sequences.reshape(len(at), -1).T:
        total += prefixes.log_probs[at, labels]
        prefixes, at = prefixes.grow(at, labels)
    return _end(prefixes, at, total, sequences.shape[-1] == limit).reshape(sequences.shape[:2])


def _estimate(prefixes: Prefixes, documents: Ints, sets: Ints, limit: int) -> Reals:
    """Estimate the log-probability (N,) of sets (N, n) from orders of theirs drawn at random."""
    outputs = prefixes.decoder.labels + 1
    wanted = np.zeros((len(sets), outputs), bool)
    np.put_along_axis(wanted, sets, True, 1)
    at, wanted = np.repeat(documents, DRAWS), np.repeat(wanted, DRAWS, 0)  # (N * P,), (N * P, L + 1)
    total = np.zeros(len(at), prefixes.log_probs.dtype)
    for _, noise in zip(range(sets.shape[1]), draw_noise(DRAWS, outputs), strict=False):
        right = wanted & ~prefixes.emitted[at]
        left = np.where(right, prefixes.log_probs[at], np.float32(-np.inf))
        total += log_sum(left)
        prefixes, at = prefixes.grow(at, (left + np.tile(noise, (len(sets), 1))).argmax(1))
    weights = _end(prefixes, at, total, sets.shape[1] == limit).reshape(-1, DRAWS)
    estimate: Reals = log_sum(weights) - np.float32(math.log(DRAWS))
    return estimate


def _end(prefixes: Prefixes, at: Ints, total: Reals, forced: bool) -> Reals:
    """Count the end of each sequence; where nothing else is allowed, it has probability 1."""
    return total if forced else total + prefixes.log_probs[at, -1]
