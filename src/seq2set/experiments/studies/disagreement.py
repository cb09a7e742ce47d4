"""How models disagree: which documents they differ on, and what they miss and give wrongly.

Two sets of labels differ by their Jaccard distance: the share of the labels in either that are not in both.
A document's disagreement is the mean distance over all pairs of models. Its score is that, lessened for long
texts, which nobody would read in a figure: times 120 over the number of words, where it has more than that.
The cases are drawn, with a seed, among the documents of the highest scores, ten times as many as are wanted;
those with fewer than two true labels are left aside, as they show nothing of labels that go together. Which
model is right is not looked at.

Shapes: N documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.config.catalog import MODELS
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    Claim,
    ModelPair,
    Terms,
    estimate_contrasts,
    judge_claims,
)
from seq2set.experiments.analysis.statistics import Floats, MeasuredRatio
from seq2set.experiments.cells.predictions import Answers
from seq2set.experiments.render.tables import Column, Quantity, Row, Table

SHORT = 120
"""Words that a text may have before its score is lessened."""

POOL = 10
"""Documents to draw from, for each one that is wanted."""


def measure_distances(answers: Mapping[str, Answers]) -> dict[ModelPair, Floats]:
    """Return how much each pair of models differs on each document, (N,) from 0 to 1."""
    names = list(dict.fromkeys(name for one in answers.values() for name in one.names))
    sets = {model: _align(one, names) for model, one in answers.items()}
    return {ModelPair(a, b): _measure_jaccard(sets[a], sets[b]) for a, b in combinations(sets, 2)}


def _align(answers: Answers, names: Sequence[str]) -> csr_matrix:
    """Return the sets with a column for each of the names, whatever order the model has them in."""
    places = {name: place for place, name in enumerate(names)}
    columns = np.array([places[name] for name in answers.names], np.int64)
    return answers.chosen._replace(labels=columns[answers.chosen.labels]).matrix(len(names))


def _measure_jaccard(one: csr_matrix, other: csr_matrix) -> Floats:
    both, mine, theirs = (
        np.asarray(matrix.sum(axis=1), np.float64).ravel() for matrix in (one.multiply(other), one, other)
    )
    either = mine + theirs - both
    distance: Floats = 1 - np.divide(both, either, out=np.ones_like(either), where=either > 0)
    return distance


def choose_cases(
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


class ErrorProfile(NamedTuple):
    """What a model does with a document on average."""

    given: float
    missed: float
    wrong: float
    exact: float
    """The share of documents whose set is given exactly"""
    pairs: float | None
    """Of the true labels that go together, of which it gave at least one, the share given both"""


def profile_errors(answers: Answers, pairs: Iterable[tuple[str, str]]) -> ErrorProfile:
    """Measure one model's answers."""
    right, given, actual = (np.asarray(one, np.float64) for one in answers.counts())
    exact = (right == given) & (right == actual)
    kept, begun = count_pairs_kept(answers, pairs).sum(axis=0)
    return ErrorProfile(
        given=float(given.mean()),
        missed=float((actual - right).mean()),
        wrong=float((given - right).mean()),
        exact=float(exact.mean()),
        pairs=float(kept / begun) if begun else None,
    )


def average_profiles(found: Sequence[ErrorProfile]) -> ErrorProfile:
    """Return the mean over the trainings of one row."""
    known = [[value for value in column if value is not None] for column in zip(*found, strict=True)]
    return ErrorProfile(*(float(np.mean(column)) if column else None for column in known))  # type: ignore[arg-type]


def count_missed(answers: Answers) -> Floats:
    """Return how many true labels each document misses, and 1 for the document, (N, 2)."""
    right, _, actual = answers.counts()
    return np.stack([actual - right, np.ones(len(actual))], axis=1)


def count_pairs_kept(answers: Answers, pairs: Iterable[tuple[str, str]]) -> Floats:
    """Return of how many pairs of each document's true labels both, and at least one, were given, (N, 2)."""
    places = {name: place for place, name in enumerate(answers.names)}
    given, actual = (one.matrix(len(places)).toarray() > 0 for one in (answers.chosen, answers.actual))
    counts = np.zeros((len(actual), 2))
    for one, other in ((places[a], places[b]) for a, b in pairs if a in places and b in places):
        true = actual[:, one] & actual[:, other]
        counts[:, 0] += true & given[:, one] & given[:, other]
        counts[:, 1] += true & (given[:, one] | given[:, other])
    return counts


def make_profile_table(found: Mapping[str, ErrorProfile], true_labels: float) -> Table:
    """Return a row per model."""
    lower, higher = ("missed", "wrong"), ("exact sets", "pairs kept")
    columns = Column("labels given"), *(Column(name, "lower") for name in lower)
    columns += tuple(Column(name, "higher") for name in higher)
    rows = []
    for model, one in found.items():
        shares = Quantity(one.exact), None if one.pairs is None else Quantity(one.pairs)
        rows.append(Row(MODELS[model].title, (*(Quantity(value, 2) for value in one[:3]), *shares)))
    caption = (
        f"A document has {true_labels:.2f} labels; given, missed and wrong are labels per document. Pairs "
        "kept: of two true labels that go together, of which at least one was given, how often both were."
    )
    return Table("habits", "What the models give and miss", columns, tuple(rows), caption)


def describe_agreement(distances: Mapping[ModelPair, Floats]) -> list[str]:
    """Say how often the models differ, and which of them are the most and the least alike."""
    if not distances:
        return ["Only one model finished; nothing to compare."]
    apart = np.stack(list(distances.values()))  # (pairs, N)
    means = {pair: float(one.mean()) for pair, one in distances.items()}
    closest, farthest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    found = (
        f"On {100 * (apart > 0).any(axis=0).mean():.0f} % of the {apart.shape[1]:,} documents the models do "
        f"not all give the same set; two models differ by a Jaccard distance of {apart.mean():.2f}."
    )
    if len(distances) == 1:
        return [found]
    return [
        found,
        f"The most alike are {_join(closest)} ({means[closest]:.2f}), the least alike {_join(farthest)} "
        f"({means[farthest]:.2f}).",
    ]


def judge_cases(missed: Mapping[str, MeasuredRatio], pairs: Mapping[str, MeasuredRatio]) -> list[Claim]:
    """Judge what the paper reads from its three cases by all documents.

    Both are by model: how many true labels a document misses, and how many pairs of labels that go together
    are given as a whole.
    """
    ours = [model for model in missed if not MODELS[model].is_baseline]
    more = estimate_contrasts(_subtract_from(missed, "seq2seq", ours), "labels missed per 100 documents")
    both = [model for model in ours if model in pairs]
    worse = estimate_contrasts(_subtract_from(pairs, "br", both), "points of pairs given as a whole")
    early = "Seq2Seq ends too early and leaves more true labels out than the Seq2Sets"
    apart = "BR, unlike the Seq2Sets, fails to see which labels go together"
    return judge_claims(early, more, ABOVE) + judge_claims(apart, worse, BELOW)


def _subtract_from(
    measured: Mapping[str, MeasuredRatio], first: str, others: Sequence[str]
) -> list[tuple[str, Terms]]:
    if first not in measured:
        return []
    terms = {model: [(1.0, measured[first]), (-1.0, measured[model])] for model in others}
    return [(f"{MODELS[first].title} over {MODELS[model].title}", found) for model, found in terms.items()]


def _join(pair: ModelPair) -> str:
    return " and ".join(MODELS[model].title for model in pair)
