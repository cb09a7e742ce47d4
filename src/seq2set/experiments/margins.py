"""How far rows lie above others, in points of micro-F1 (hundredths), as the paper's claims are put."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from seq2set.experiments.lineup import title_of
from seq2set.experiments.statistics import Interval, compare, holm
from seq2set.experiments.summaries import SIGNIFICANT, Compared, Summary
from seq2set.experiments.tables import Chance, Column, Entry, Quantity, Range, Row, Table, text_of


class Pair(NamedTuple):
    """Two rows, the first of which is compared with the second."""

    ours: Summary
    theirs: Summary


class Margin(NamedTuple):
    """By how much the first of a pair lies above the second, and how sure that is."""

    pair: Pair
    compared: Compared

    @property
    def points(self) -> float:
        """The difference in hundredths of micro-F1."""
        return 100 * self.compared.difference.value

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the difference in hundredths."""
        return Interval(*(100 * end for end in self.compared.difference.interval))

    @property
    def side(self) -> int:
        """1 where the first is significantly better, -1 where it is worse, 0 where neither can be said."""
        return self.compared.side

    def text(self) -> str:
        """Say it in words."""
        return f"{_name(self.pair)} {signed(self.points)} points"


def margins(pairs: Iterable[Pair], *, resamples: int) -> list[Margin]:
    """Compare the rows of each pair; the chances are adjusted for the number of pairs."""
    pairs = list(pairs)
    found = [compare(one.ours.counts, one.theirs.counts, resamples=resamples) for one in pairs]
    chances = holm([one.chance for one in found])
    return [Margin(*one) for one in zip(pairs, map(Compared, found, chances), strict=True)]


def in_short(found: Sequence[Margin]) -> str:
    """Say which margins are hardly accidents; the rest stands in their table."""
    sure = [one.text() for one in found if one.side]
    if len(found) == 1:
        return f"The margin {'is significant' if sure else 'may be an accident'}."
    if len(sure) == len(found):
        return f"All {len(found)} margins are significant."
    if not sure:
        return f"None of the {len(found)} margins is significant."
    verb = "is" if len(sure) == 1 else "are"
    return f"{len(sure)} of the {len(found)} margins {verb} significant: {'; '.join(sure)}."


def margin_table(
    name: str, title: str, found: Sequence[Margin], beside: Mapping[str, Sequence[float | None]]
) -> Table:
    """Return a row a margin, with the paper's own beside: columns of points, an entry a margin."""
    columns = (Column("points of F1"), Column("95 % of it"), Column("p"), *map(Column, beside))
    rows = [
        Row(_name(one.pair), (*_entries(one), *(_points(column[place]) for column in beside.values())))
        for place, one in enumerate(found)
    ]
    tests = f"{len(found)} test{'s' if len(found) != 1 else ''}"
    caption = (
        "Differences in micro-F1, in hundredths. p: approximate randomisation on documents, two-sided, seeds "
        f"pooled, Holm-adjusted for {tests}; * below {SIGNIFICANT}."
    )
    return Table(name, title, columns, tuple(rows), caption, "Margins")


def _name(pair: Pair) -> str:
    return f"{title_of(pair.ours.row)} over {title_of(pair.theirs.row)}"


def _entries(margin: Margin) -> tuple[Entry, ...]:
    return (
        Quantity(margin.points, 1, signed=True),
        Range(margin.interval, 1, signed=True),
        Chance(margin.compared.chance, margin.compared.significant),
    )


def signed(points: float | None) -> str:
    """Return points as they stand in a sentence."""
    return text_of(_points(points))


def _points(value: float | None) -> Entry:
    return None if value is None else Quantity(value, 1, signed=True)
