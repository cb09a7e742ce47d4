"""Which documents models disagree on, and a choice of them that does not look at who is right.

Two sets of labels differ by their Jaccard distance: the share of the labels in either that are not in both.
A document's disagreement is the mean distance over all pairs of models. Its score is that, lessened for long
texts, which nobody would read in a figure: times 120 over the number of words, where it has more than that.
The cases are drawn, with a seed, among the documents of the highest scores, ten times as many as are wanted;
those with fewer than two true labels are left aside, as they show nothing of labels that go together.

Shapes: N documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.experiments.answers import Answers

Floats = npt.NDArray[np.float64]

SHORT = 120
"""Words that a text may have before its score is lessened."""

POOL = 10
"""Documents to draw from, for each one that is wanted."""


class ModelPair(NamedTuple):
    """Two models by the names of their rows."""

    one: str
    other: str


def distances(answers: Mapping[str, Answers]) -> dict[ModelPair, Floats]:
    """Return how much each pair of models differs on each document, (N,) from 0 to 1."""
    names = list(dict.fromkeys(name for one in answers.values() for name in one.names))
    sets = {row: _aligned(one, names) for row, one in answers.items()}
    return {ModelPair(*pair): _jaccard(sets[pair[0]], sets[pair[1]]) for pair in combinations(sets, 2)}


def _aligned(answers: Answers, names: Sequence[str]) -> csr_matrix:
    """Return the sets with a column for each of the names, whatever order the model has them in."""
    places = {name: place for place, name in enumerate(names)}
    columns = np.array([places[name] for name in answers.names], np.int64)
    return answers.chosen._replace(labels=columns[answers.chosen.labels]).matrix(len(names))


def _jaccard(one: csr_matrix, other: csr_matrix) -> Floats:
    both, mine, theirs = (
        np.asarray(matrix.sum(axis=1), np.float64).ravel() for matrix in (one.multiply(other), one, other)
    )
    either = mine + theirs - both
    distance: Floats = 1 - np.divide(both, either, out=np.ones_like(either), where=either > 0)
    return distance


def choose(
    disagreement: Floats, words: Sequence[int], true_labels: Sequence[int], *, cases: int, seed: int
) -> list[int]:
    """Return the documents of the cases, the highest score first."""
    score = disagreement * np.minimum(1.0, SHORT / np.maximum(words, 1))
    allowed = np.asarray(true_labels) >= 2
    if allowed.sum() < cases:
        allowed[:] = True
    order = np.argsort(-score, kind="stable")
    pool = order[allowed[order]][: POOL * cases]
    drawn = np.random.default_rng(seed).choice(len(pool), min(cases, len(pool)), replace=False)
    return [int(pool[place]) for place in sorted(drawn)]
