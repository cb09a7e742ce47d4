"""A case: one document, its true labels, and what each model gave it, marked by colours and letters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Literal, NamedTuple

from seq2set.experiments.cells.predictions import Answers, Sets
from seq2set.labels.correlation import CorrelatedLabels

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
    """What each model gave, in its order, by the model's title"""
    letters: Mapping[str, str]

    def lines(self) -> Iterator[tuple[str, list[Mark]]]:
        """Give the true labels, then a line per model: what it gave, and after that what it missed."""
        yield "True labels", [self._mark(label, "true") for label in self.actual]
        for model, labels in self.given.items():
            given = [self._mark(label, "right" if label in self.actual else "wrong") for label in labels]
            yield model, given + [self._mark(label, "missed") for label in self.actual if label not in labels]

    def _mark(self, label: str, kind: Literal["true", "right", "wrong", "missed"]) -> Mark:
        return Mark(label, kind, self.letters.get(label))


def make_case(
    number: int, place: int, answers: Mapping[str, Answers], text: str | None, correlated: CorrelatedLabels
) -> Case:
    """Put together what is known of the document at a place; `answers` are by the models' titles."""
    first = next(iter(answers.values()))
    actual = _names(first, first.actual, place)
    given = {model: _names(one, one.chosen, place) for model, one in answers.items()}
    everything = [label for labels in (actual, *given.values()) for label in labels]
    return Case(number, first.ids[place], text, actual, given, correlated.groups(everything))


def _names(answers: Answers, sets: Sets, place: int) -> tuple[str, ...]:
    return tuple(answers.names[label] for label in sets.row(place))
