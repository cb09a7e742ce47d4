"""How models answer as a whole: what they miss, what they give wrongly, and whether pairs stay together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from seq2set.experiments.answers import Answers
from seq2set.experiments.lineup import title_of
from seq2set.experiments.statistics import Floats
from seq2set.experiments.tables import Column, Quantity, Row, Table


class Habits(NamedTuple):
    """What a model does with a document on average."""

    given: float
    missed: float
    wrong: float
    exact: float
    """The share of documents whose set is given exactly"""
    pairs: float | None
    """Of the true labels that go together, of which it gave at least one, the share given both"""


def habits(answers: Answers, pairs: Iterable[tuple[str, str]]) -> Habits:
    """Measure one model's answers."""
    right, given, actual = (np.asarray(one, np.float64) for one in answers.counts())
    exact = (right == given) & (right == actual)
    kept, begun = pairs_kept(answers, pairs).sum(axis=0)
    return Habits(
        given=float(given.mean()),
        missed=float((actual - right).mean()),
        wrong=float((given - right).mean()),
        exact=float(exact.mean()),
        pairs=float(kept / begun) if begun else None,
    )


def mean_habits(found: Sequence[Habits]) -> Habits:
    """Return the mean over the trainings of one row."""
    known = [[value for value in column if value is not None] for column in zip(*found, strict=True)]
    return Habits(*(float(np.mean(column)) if column else None for column in known))  # type: ignore[arg-type]


def missed(answers: Answers) -> Floats:
    """Return how many true labels each document misses, and 1 for the document, (N, 2)."""
    right, _, actual = answers.counts()
    return np.stack([actual - right, np.ones(len(actual))], axis=1)


def pairs_kept(answers: Answers, pairs: Iterable[tuple[str, str]]) -> Floats:
    """Return of how many pairs of each document's true labels both, and at least one, were given, (N, 2)."""
    places = {name: place for place, name in enumerate(answers.names)}
    given, actual = (one.matrix(len(places)).toarray() > 0 for one in (answers.chosen, answers.actual))
    counts = np.zeros((len(actual), 2))
    for one, other in ((places[a], places[b]) for a, b in pairs if a in places and b in places):
        true = actual[:, one] & actual[:, other]
        counts[:, 0] += true & given[:, one] & given[:, other]
        counts[:, 1] += true & (given[:, one] | given[:, other])
    return counts


def habits_table(found: Mapping[str, Habits], true_labels: float) -> Table:
    """Return a row a model."""
    columns = (
        Column("labels given"),
        Column("missed", "lower"),
        Column("wrong", "lower"),
        Column("exact sets", "higher"),
        Column("pairs kept", "higher"),
    )
    rows = [
        Row(
            title_of(row),
            (
                *(Quantity(value, 2) for value in one[:3]),
                Quantity(one.exact),
                None if one.pairs is None else Quantity(one.pairs),
            ),
        )
        for row, one in found.items()
    ]
    caption = (
        f"A document has {true_labels:.2f} labels; given, missed and wrong are labels per document. Pairs "
        "kept: of two true labels that go together, of which at least one was given, how often both were."
    )
    return Table("habits", "What the models give and miss", columns, tuple(rows), caption)
