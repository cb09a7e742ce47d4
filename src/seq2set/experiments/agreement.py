"""How models answer as a whole: what they miss, what they give wrongly, and whether pairs stay together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from seq2set.experiments.answers import Answers
from seq2set.experiments.lineup import title_of
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
    return Habits(
        given=float(given.mean()),
        missed=float((actual - right).mean()),
        wrong=float((given - right).mean()),
        exact=float(exact.mean()),
        pairs=_pairs_kept(answers, pairs),
    )


def _pairs_kept(answers: Answers, pairs: Iterable[tuple[str, str]]) -> float | None:
    places = {name: place for place, name in enumerate(answers.names)}
    given, actual = (one.matrix(len(places)).toarray() > 0 for one in (answers.chosen, answers.actual))
    begun = kept = 0
    for one, other in ((places[a], places[b]) for a, b in pairs if a in places and b in places):
        true = actual[:, one] & actual[:, other]
        begun += int((true & (given[:, one] | given[:, other])).sum())
        kept += int((true & given[:, one] & given[:, other]).sum())
    return kept / begun if begun else None


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
        f"A document has {true_labels:.2f} labels; given, missed and wrong are labels a document. Pairs "
        "kept: of two true labels that go together, of which at least one was given, how often both were."
    )
    return Table("habits", "What the models give and miss", columns, tuple(rows), caption)
