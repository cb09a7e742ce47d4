"""The searches by name, each giving scores for all labels and, where it has one, a sequence.

- `greedy`: the likeliest label at each step; a label's score is the probability of its step.
- `beam`: the likeliest of several sequences; a label's score is its share in all that were kept.
- `set-beam`: the same over sets, in which the orders of a set count together: all of them for sets of up to
  five labels, some drawn at random for larger ones.
- `marginal`: no one sequence, but each label's probability over many sampled sets, for a threshold to decide.

Letters: B documents, K hypotheses per document, S labels, L labels in all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seq2set.config.catalog import SEARCHES
from seq2set.config.schema import SearchSettings
from seq2set.core.names import find_named, load_named
from seq2set.nn.decoder import DecoderPolicy, Symbols
from seq2set.nn.decoding.beam import Hypotheses, beam_search, set_beam_search
from seq2set.nn.decoding.policy import Policy, S
from seq2set.nn.decoding.rollout import (
    OPEN,
    Picked,
    Turn,
    follow,
    greedy,
    gumbel_noise,
    roll_out,
    score_symbols,
)

Reals = npt.NDArray[np.float32]


class SearchResult(NamedTuple):
    """What a search found for a batch of documents."""

    scores: Reals
    """(B, L) each in [0, 1]"""
    sequences: list[npt.NDArray[np.intp]] | None
    """Each document's labels in the order emitted; none where a threshold is to decide"""


def count_hypotheses(name: str, settings: SearchSettings) -> int:
    """Return how many hypotheses a search holds per document."""
    row = find_named("search", name, SEARCHES)
    return row.wider * getattr(settings, row.setting) if row.setting else 1


def run_search(
    name: str, policy: DecoderPolicy, settings: SearchSettings, most: int | None = None
) -> SearchResult:
    """Search the label sets of a batch of documents, sets of up to `most` labels."""
    found: SearchResult = load_named(find_named("search", name, SEARCHES).find)(policy, settings, most)
    return found


def find_marginals(policy: DecoderPolicy, settings: SearchSettings, most: int | None) -> SearchResult:
    """Score labels by their marginals; a rule is to decide."""
    sharp = policy.temper(settings.temperature)
    return SearchResult(estimate_marginals(sharp, settings.samples, max_steps=most).cpu().numpy(), None)


@torch.no_grad()
def estimate_marginals(
    policy: Policy[S], samples: int, *, seed: int = 1, max_steps: int | None = None
) -> Tensor:
    """Estimate each label's marginal (B, L), its probability of being in the set, from sampled sequences.

    A label is emitted at most once, so that its marginal is the expected sum, over the steps, of its
    probability given the labels before. That sum is averaged over `samples` sequences: the same mean as
    counting in how many samples the label occurs, but with far less noise, and different for labels that no
    sample happened to draw.

    All documents use the same random numbers, drawn from a seed, so that a document's marginals depend
    neither on its batch nor on the run.
    """
    generator = torch.Generator().manual_seed(seed)
    sums = torch.zeros(policy.documents, samples, policy.labels, device=policy.device)

    def draw(turn: Turn) -> Picked:
        chances = turn.log_probs[..., :-1].exp().masked_fill(turn.finished[..., None], 0.0)
        sums.index_put_((turn.documents[:, None], turn.hypotheses), chances, accumulate=True)
        noise = gumbel_noise(samples, policy.labels + 1, generator).to(policy.device)
        # The likeliest after Gumbel noise is a draw from the distribution itself.
        return score_symbols(turn, (turn.log_probs + noise[turn.hypotheses]).argmax(-1))

    roll_out(policy, draw, hypotheses=samples, max_steps=max_steps)
    return sums.mean(1).clamp(0, 1)


def find_beam(policy: DecoderPolicy, settings: SearchSettings, most: int | None) -> SearchResult:
    """Find the likeliest of several sequences."""
    return _best(beam_search(policy, width=settings.width, max_steps=most), policy.labels)


def find_set_beam(policy: DecoderPolicy, settings: SearchSettings, most: int | None) -> SearchResult:
    """Find the likeliest of several sets."""
    return _best(set_beam_search(policy, width=settings.width, max_steps=most), policy.labels)


def find_greedy(policy: DecoderPolicy, settings: SearchSettings, most: int | None) -> SearchResult:  # noqa: ARG001
    """Emit the likeliest label at each step."""
    rollout = greedy(policy, max_steps=most)
    steps = rollout.steps[:, : rollout.labels.shape[1]].exp()  # (B, S) without `eos`
    scores = torch.zeros(len(steps), policy.labels + 3, device=steps.device)
    scores = scores.scatter(1, rollout.labels, steps)[:, : policy.labels]
    return SearchResult(scores.cpu().numpy(), _sequences(rollout.labels, rollout.lengths))


def _best(found: Hypotheses, labels: int) -> SearchResult:
    weights = torch.softmax(found.set_log_prob, -1)  # (B, K)
    scores = (found.masks(labels) * weights[..., None]).sum(1)  # (B, L)
    return SearchResult(scores.clamp(0, 1).cpu().numpy(), _sequences(found.labels[:, 0], found.lengths[:, 0]))


def _sequences(labels: Tensor, lengths: Tensor) -> list[npt.NDArray[np.intp]]:
    rows = labels.cpu().numpy().astype(np.intp)
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]


def fill_up(policy: DecoderPolicy, found: SearchResult, least: int) -> SearchResult:
    """Add to sequences of fewer than `least` labels those that the decoder likes best after them.

    An added label scores the probability of its step, unless the search gave it more.
    """
    least = min(least, policy.labels)
    if found.sequences is None or all(len(row) >= least for row in found.sequences):
        return found
    path = _extend_sequences(found.sequences, least, Symbols(policy.labels))
    rollout = follow(policy, path.to(policy.device))
    rows = zip(rollout.labels.cpu().numpy(), rollout.steps.exp().cpu().numpy(), strict=True)
    scores, sequences = found.scores.copy(), list(found.sequences)
    for text, (labels, chances) in enumerate(rows):
        new = slice(len(sequences[text]), max(least, len(sequences[text])))
        np.maximum.at(scores[text], labels[new], chances[new])
        sequences[text] = labels[: new.stop].astype(np.intp)
    return SearchResult(scores, sequences)


def _extend_sequences(sequences: list[npt.NDArray[np.intp]], least: int, symbols: Symbols) -> Tensor:
    """Return what is to be emitted (B, S + 1): given labels, then any until there are enough, then `eos`."""
    longest = max(least, *map(len, sequences))
    path = np.full((len(sequences), longest + 1), symbols.eos)
    path[:, :least] = OPEN
    for row, labels in zip(path, sequences, strict=True):
        row[: len(labels)] = labels
    return torch.from_numpy(path)
