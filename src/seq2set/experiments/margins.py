"""How far rows lie above others, in points of micro-F1 (hundredths), as the paper's claims are put."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from seq2set.experiments.lineup import title_of
from seq2set.experiments.statistics import SIGNIFICANT, Interval, Measured, combine
from seq2set.experiments.summaries import Compared, Summary, compared
from seq2set.experiments.tables import Chance, Column, Entry, Quantity, Range, Row, Table, text_of


class Pair(NamedTuple):
    """Two rows, the first of which is compared with the second."""

    ours: Summary
    theirs: Summary


@dataclass(frozen=True)
class Contrast:
    """A difference between rows, or between differences of rows, and how sure it is."""

    title: str
    """What is told apart, as it stands before "+1.2 points" """
    compared: Compared
    unit: str = "points"
    """What a hundredth is called"""

    @property
    def points(self) -> float:
        """The difference in hundredths."""
        return 100 * self.compared.difference.value

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the difference in hundredths."""
        return Interval(*(100 * end for end in self.compared.difference.interval))

    @property
    def verdict(self) -> str:
        """Say whether it is significant."""
        if self.compared.chance is None:
            return "not tested, with fewer than three seeds"
        return "significant" if self.side else "not significant"

    @property
    def side(self) -> int:
        """1 where the first is significantly better, -1 where it is worse, 0 where neither can be said."""
        return self.compared.side

    def text(self) -> str:
        """Say it in words."""
        return f"{self.title} {signed(self.points)} {self.unit}"

    def text_with_interval(self) -> str:
        """Say it in words, with its interval."""
        return f"{self.text()} ({Range(self.interval, 1, signed=True).text()})"


@dataclass(frozen=True)
class Margin(Contrast):
    """By how much the first of a pair lies above the second."""

    pair: Pair = field(kw_only=True)


def margins(pairs: Iterable[Pair]) -> list[Margin]:
    """Compare the rows of each pair; p are adjusted for the number of pairs."""
    pairs = list(pairs)
    found = contrasts({_name(one): difference(*one) for one in pairs})
    return [Margin(one.title, one.compared, pair=pair) for one, pair in zip(found, pairs, strict=True)]


Terms = Sequence[tuple[float, Measured]]
"""A linear combination of rows."""


def difference(ours: Summary, theirs: Summary) -> Terms:
    """Return what says by how much one row lies above another."""
    return [(1.0, ours.f1), (-1.0, theirs.f1)]


def minus(terms: Terms) -> Terms:
    """Return the opposite of a combination, to be put behind another."""
    return [(-factor, one) for factor, one in terms]


def contrasts(wanted: Mapping[str, Terms], unit: str = "points") -> list[Contrast]:
    """Test several combinations of rows by their titles; p are adjusted for their number."""
    found = compared([combine(terms) for terms in wanted.values()])
    return [Contrast(title, one, unit) for title, one in zip(wanted, found, strict=True)]


def in_short(found: Sequence[Contrast]) -> str:
    """Say which margins are significant; the rest stands in their table."""
    tested = [one for one in found if one.compared.chance is not None]
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


FEW_SEEDS = "a model that draws at random was trained with fewer than three seeds"
"""Why there is no p."""

METHOD = (
    "Intervals (95 %) and p are by t on the variance over {units} and over seeds (docs/experiments.md); p "
    "two-sided, Holm-adjusted for {tests}; * below {level}."
)


def margin_table(
    name: str, title: str, found: Sequence[Margin], beside: Mapping[str, Sequence[float | None]]
) -> Table:
    """Return a row a margin, with the paper's own beside: columns of points, an entry a margin."""
    columns = (
        Column("points of F1"),
        Column("95 % of it"),
        Column("p"),
        Column("seeds"),
        *map(Column, beside),
    )
    rows = [
        Row(one.title, (*_entries(one), *(_points(column[place]) for column in beside.values())))
        for place, one in enumerate(found)
    ]
    first = [found[0].pair.ours] if found else []
    return Table(
        name,
        title,
        columns,
        tuple(rows),
        f"Differences in micro-F1, in hundredths. {_caption(found, first)}",
        "Margins",
    )


def _caption(found: Sequence[Margin], rows: Sequence[Summary]) -> str:
    tests = sum(one.compared.chance is not None for one in found)
    return " ".join(
        [
            method(tests, rows),
            "Seeds: trainings of each side; – where a model draws nothing at random and is trained once.",
            *few_noted(found),
        ]
    )


def method(tests: int, rows: Sequence[Summary]) -> str:
    """Say how intervals and p are made."""
    counted = f"{tests} test{'s' if tests != 1 else ''}"
    units = units_of(rows[0]) if rows else "documents"
    if not tests:
        return f"Intervals (95 %) are by t on the variance over {units} and over seeds (docs/experiments.md)."
    return METHOD.format(units=units, tests=counted, level=SIGNIFICANT)


def units_of(summary: Summary) -> str:
    """Name what the variance over documents is taken over."""
    documents, units = summary.results[0].facts["documents"], len(summary.f1.units)
    return (
        f"{documents:,} documents" if units >= documents else f"{units:,} groups of {documents:,} documents"
    )


def few_noted(found: Sequence[Contrast]) -> list[str]:
    """Say what an interval speaks of where a model has few seeds, where that is so."""
    if not any(one.compared.difference.few for one in found):
        return []
    return [
        "With fewer than three seeds of a model that draws at random the interval is of these trained "
        "models, and there is no p."
    ]


def seeds_of(summary: Summary) -> str:
    """Say how often a row was trained."""
    return str(len(summary.results)) if summary.f1.random else "–"


def _name(pair: Pair) -> str:
    return f"{title_of(pair.ours.row)} over {title_of(pair.theirs.row)}"


def _entries(margin: Margin) -> tuple[Entry, ...]:
    chance = margin.compared.chance
    return (
        Quantity(margin.points, 1, signed=True),
        Range(margin.interval, 1, signed=True),
        None if chance is None else Chance(chance, margin.compared.significant),
        " / ".join(map(seeds_of, margin.pair)),
    )


def signed(points: float | None) -> str:
    """Return points as they stand in a sentence."""
    return text_of(_points(points))


def _points(value: float | None) -> Entry:
    return None if value is None else Quantity(value, 1, signed=True)
