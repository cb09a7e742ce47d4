"""The searches by name, each giving scores for all labels and, where it has one, a sequence.

- `greedy`: the likeliest label at each step; a label's score is the probability of its step.
- `beam`: the likeliest of several sequences; a label's score is its share in all that were kept.
- `set-beam`: the same over sets, in which the orders of a set count together: all of them for sets of up to
  five labels, some drawn at random for larger ones.
- `marginal`: no one sequence, but each label's probability over many sampled sets, for a threshold to decide.

All of them run on any runtime's `StepDecoder` (see `prefixes`), and none of them needs torch.

Letters: B documents, R rows, N hypotheses, K hypotheses per document, S labels, L labels in all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config.catalog import SEARCHES
from seq2set.config.schema import SearchSettings
from seq2set.core.names import find_named, load_named
from seq2set.nn.decoding.beam import Hypotheses, search_beam, search_set_beam
from seq2set.nn.decoding.prefixes import (
    Bools,
    Reals,
    StepDecoder,
    begin,
    decode_greedily,
    estimate_marginals,
)

OPEN = -1
"""In a sequence to be filled up: any label."""


class SearchResult(NamedTuple):
    """What a search found for a batch of documents."""

    scores: Reals
    """(B, L) each in [0, 1]"""
    sequences: list[npt.NDArray[np.intp]] | None
    """Each document's labels in the order emitted; none where a threshold is to decide"""
    drawn: Bools | None = None
    """(B, K, L) the sets that marginals were estimated from"""


def count_hypotheses(name: str, settings: SearchSettings) -> int:
    """Return how many hypotheses a search holds per document."""
    row = find_named("search", name, SEARCHES)
    return row.wider * getattr(settings, row.setting) if row.setting else 1


def run_search(
    name: str, decoder: StepDecoder, settings: SearchSettings, most: int | None = None, least: int = 0
) -> SearchResult:
    """Search the label sets of a batch of documents, sets of `least` to `most` labels."""
    found: SearchResult = load_named(find_named("search", name, SEARCHES).find)(decoder, settings, most)
    return fill_up(decoder, found, least)


def find_marginals(decoder: StepDecoder, settings: SearchSettings, most: int | None) -> SearchResult:
    """Score labels by their marginals; a rule is to decide."""
    drawn = np.zeros((decoder.documents, settings.samples, decoder.labels), bool)
    found = estimate_marginals(
        decoder, settings.samples, temperature=settings.temperature, max_steps=most, drawn=drawn
    )
    return SearchResult(found, None, drawn)


def find_beam(decoder: StepDecoder, settings: SearchSettings, most: int | None) -> SearchResult:
    """Find the likeliest of several sequences."""
    return _pick_best(search_beam(decoder, width=settings.width, max_steps=most), decoder.labels)


def find_set_beam(decoder: StepDecoder, settings: SearchSettings, most: int | None) -> SearchResult:
    """Find the likeliest of several sets."""
    return _pick_best(search_set_beam(decoder, width=settings.width, max_steps=most), decoder.labels)


def _pick_best(found: Hypotheses, labels: int) -> SearchResult:
    weights = np.exp(found.set_log_prob - found.set_log_prob.max(1, keepdims=True))  # (B, K)
    weights /= weights.sum(1, keepdims=True)
    scores = np.einsum("bkl,bk->bl", found.masks(labels), weights).astype(np.float32)
    rows = zip(found.labels[:, 0], found.lengths[:, 0], strict=True)
    return SearchResult(scores.clip(0, 1), [row[:length].astype(np.intp) for row, length in rows])


def find_greedy(decoder: StepDecoder, settings: SearchSettings, most: int | None) -> SearchResult:  # noqa: ARG001
    """Emit the likeliest label at each step."""
    found, scores = decode_greedily(decoder, max_steps=most), np.zeros((decoder.documents, decoder.labels))
    sequences = [row[:length] for row, length in zip(found.labels, found.lengths, strict=True)]
    for row, labels, log_probs in zip(scores, sequences, found.steps, strict=True):
        row[labels] = np.exp(log_probs[: len(labels)])
    return SearchResult(scores.astype(np.float32), [row.astype(np.intp) for row in sequences])


def fill_up(decoder: StepDecoder, found: SearchResult, least: int) -> SearchResult:
    """Add to sequences of fewer than `least` labels those that the decoder likes best after them.

    An added label scores the probability of its step, unless the search gave it more.
    """
    least = min(least, decoder.labels)
    if found.sequences is None or all(len(row) >= least for row in found.sequences):
        return found
    scores, sequences = found.scores.copy(), list(found.sequences)
    short = at = np.array([place for place, row in enumerate(sequences) if len(row) < least])  # (N,)
    path = np.full((len(short), least), OPEN)
    for row, place in zip(path, short, strict=True):
        row[: len(sequences[place])] = sequences[place]
    prefixes = begin(decoder)
    for step in range(least):
        log_probs = prefixes.log_probs[at]
        new = path[:, step] == OPEN
        path[new, step] = log_probs[new, :-1].argmax(1)
        chosen = short[new], path[new, step]
        scores[chosen] = np.maximum(scores[chosen], np.exp(log_probs[new, path[new, step]]))
        prefixes, at = prefixes.grow(at, path[:, step])
    for place, row in zip(short, path, strict=True):
        sequences[place] = row.astype(np.intp)
    return SearchResult(scores, sequences)
