"""What a case study shows: single documents with the labels that models gave, and the models' habits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Literal, NamedTuple

from seq2set.config.catalog import MODELS
from seq2set.experiments.render.tables import Column, Quantity, Row, Table

COLOURS = ("#a8d8f0", "#f7cf8a", "#98dcc4", "#ecc3da", "#f5ee9b", "#f3b896")
"""The colours of the letters A to F, after which they begin again: tints of Okabe's and Ito's."""


class Mark(NamedTuple):
    """A label as it stands in a case; the letter tells which labels go together, where any do."""

    label: str
    kind: Literal["true", "right", "wrong", "missed"]
    letter: str | None

    @property
    def sign(self) -> str:
        """What stands before a label that is wrong or missed."""
        return {"wrong": "✗ ", "missed": "○ "}.get(self.kind, "")

    @property
    def colour(self) -> str | None:
        """The colour of its letter; what is missed stays without."""
        if self.letter is None or self.kind == "missed":
            return None
        return COLOURS[ascii_uppercase.index(self.letter) % len(COLOURS)]

    def text(self) -> str:
        """Return the label with its signs, for print without colours."""
        return f"{self.sign}{self.label}{f' ({self.letter})' if self.letter else ''}"


@dataclass(frozen=True)
class Case:
    """One document with its labels in order."""

    number: int
    id: str
    text: str | None
    """None where texts are not to be shown"""
    actual: tuple[str, ...]
    given: Mapping[str, tuple[str, ...]]
    """What each model gave, in its order, by the model's name"""
    letters: Mapping[str, str]

    def lines(self) -> Iterator[tuple[str, list[Mark]]]:
        """Give the true labels, then a line per model: what it gave, and after that what it missed."""
        yield "True labels", [self._mark(label, "true") for label in self.actual]
        for model, labels in self.given.items():
            given = [self._mark(label, "right" if label in self.actual else "wrong") for label in labels]
            missed = [self._mark(label, "missed") for label in self.actual if label not in labels]
            yield MODELS[model].title, given + missed

    def _mark(self, label: str, kind: Literal["true", "right", "wrong", "missed"]) -> Mark:
        return Mark(label, kind, self.letters.get(label))


def make_cases_table(cases: Sequence[Case]) -> Table:
    """Return the labels without colours, a row per model and document."""
    rows = []
    for case in cases:
        for place, (name, marks) in enumerate(case.lines()):
            labels = ", ".join(mark.text() for mark in marks) or "no label"
            rows.append(Row(f"{case.number}. {name}", (labels,), ruled=not place))
    ids = ", ".join(f"{case.number}: {case.id}" for case in cases)
    caption = f"✗ wrong, ○ missed; labels of one letter go together. The documents are {ids}."
    columns, rows_are = (Column("Labels in order"),), "Given by"
    return Table("cases", "The cases as a table", columns, tuple(rows), caption, rows_are, worded=True)


class ErrorProfile(NamedTuple):
    """What a model does with a document on average."""

    given: float
    missed: float
    wrong: float
    exact: float
    """The share of documents whose set is given exactly"""
    pairs: float | None
    """Of the true labels that go together, of which it gave at least one, the share given both"""


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
