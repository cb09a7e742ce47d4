"""Margins: by how much rows lie above others, in points of micro-F1 (hundredths), as the paper puts it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from seq2set.experiments.analysis.comparison import Difference, Summary, adjust_differences
from seq2set.experiments.analysis.estimates import Interval
from seq2set.experiments.analysis.statistics import MeasuredRatio, combine
from seq2set.experiments.render.tables import Quantity, Range, format_entry

FEW_SEEDS = "a model that draws at random was trained with fewer than three seeds"
"""Why there is no p."""

NOT_TESTED = "not tested, with fewer than three seeds"

Terms = Sequence[tuple[float, MeasuredRatio]]
"""A linear combination of rows."""


class ModelPair(NamedTuple):
    """Two models by their names."""

    one: str
    other: str


class Pair(NamedTuple):
    """Two rows, the first of which is compared with the second."""

    ours: Summary
    theirs: Summary

    @property
    def title(self) -> str:
        """The pair's name in print."""
        return f"{self.ours.title} over {self.theirs.title}"


@dataclass(frozen=True)
class Contrast:
    """A difference between rows, or between differences of rows, and how sure it is."""

    title: str
    """What is told apart, as it stands before "+1.2 points" """
    difference: Difference
    unit: str = "points"
    """What a hundredth is called"""

    @property
    def points(self) -> float:
        """The difference in hundredths."""
        return 100 * self.difference.estimate.value

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the difference in hundredths."""
        return Interval(*(100 * end for end in self.difference.estimate.interval))

    @property
    def few(self) -> bool:
        """Whether a model that draws at random has too few seeds for a test."""
        return self.difference.estimate.few

    @property
    def verdict(self) -> str:
        """Say whether it is significant."""
        if self.difference.chance is None:
            return NOT_TESTED
        return "significant" if self.side else "not significant"

    @property
    def side(self) -> int:
        """1 where the first is significantly better, -1 where it is worse, 0 where neither can be said."""
        return self.difference.side

    def text(self) -> str:
        """Say it in words."""
        return f"{self.title} {format_points(self.points)} {self.unit}"

    def text_with_interval(self) -> str:
        """Say it in words, with its interval."""
        return f"{self.text()} ({Range(self.interval, 1, signed=True).text()})"


@dataclass(frozen=True)
class Margin(Contrast):
    """By how much the first of a pair lies above the second."""

    pair: Pair = field(kw_only=True)


def compare_pairs(pairs: Iterable[Pair]) -> list[Margin]:
    """Compare the rows of each pair; p are adjusted for the number of pairs."""
    pairs = list(pairs)
    found = adjust_differences([combine(subtract(*one)) for one in pairs])
    return [Margin(pair.title, one, pair=pair) for one, pair in zip(found, pairs, strict=True)]


def estimate_contrasts(wanted: Sequence[tuple[str, Terms]], unit: str = "points") -> list[Contrast]:
    """Test several combinations of rows, each under a title; p are adjusted for their number."""
    found = adjust_differences([combine(terms) for _, terms in wanted])
    return [Contrast(title, one, unit) for (title, _), one in zip(wanted, found, strict=True)]


def subtract(ours: Summary, theirs: Summary) -> Terms:
    """Return what says by how much one row lies above another."""
    return [(1.0, ours.f1), (-1.0, theirs.f1)]


def subtract_pairs(one: Pair, other: Pair) -> Terms:
    """Return what says by how much one pair is further apart than another: a difference of differences."""
    return [*subtract(*one), *((-factor, row) for factor, row in subtract(*other))]


def format_points(points: float | None) -> str:
    """Return points as they stand in a sentence; a dash where there are none."""
    return format_entry(None if points is None else Quantity(points, 1, signed=True))


def summarize_margins(found: Sequence[Contrast]) -> str:
    """Say which margins are significant; the rest stands in their table."""
    tested = [one for one in found if one.difference.chance is not None]
    untested = len(found) - len(tested)
    if not tested:
        return f"No margin is tested: {FEW_SEEDS}."
    sure = [one.text() for one in tested if one.side]
    left = f" {untested} more are not tested: {FEW_SEEDS}." if untested else ""
    if len(tested) == 1:
        return f"The margin is {'' if sure else 'not '}significant.{left}"
    if len(sure) == len(tested):
        return f"All {len(tested)} margins are significant.{left}"
    if not sure:
        return f"None of the {len(tested)} margins is significant.{left}"
    verb = "is" if len(sure) == 1 else "are"
    return f"{len(sure)} of the {len(tested)} margins {verb} significant: {'; '.join(sure)}.{left}"
