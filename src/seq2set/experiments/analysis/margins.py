"""How far rows lie above others, in points of micro-F1 (hundredths), as the paper's claims are put.

A claim of the paper's, and whether it holds by what was measured.

The paper's claims, judged by tests of what was measured.

A claim is about one or several differences. It holds where every one of them is significant by itself, which
needs no adjustment: to be wrong, all tests would have to be (an intersection-union test). It does not hold
where one of them is significantly the other way after Holm's adjustment. Else it is left open. That a model
is "not worse" is never read from a test that found nothing: the difference must be significantly better than
a loss of `NEGLIGIBLE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from seq2set.experiments.analysis.comparison import Compared, Comparison, Summary, compared
from seq2set.experiments.analysis.statistics import (
    FEWEST_SEEDS,
    MANY_SEEDS,
    POWER,
    SIGNIFICANT,
    Estimate,
    Interval,
    Measured,
    combine,
    holm,
)
from seq2set.experiments.model_names import baselines, title_of
from seq2set.experiments.render.tables import Chance, Column, Entry, Quantity, Range, Row, Table, text_of


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


_STATES = {True: "holds", False: "does not hold", None: "is left open"}


class Claim(NamedTuple):
    """What the paper says, what speaks for or against it, and what follows."""

    text: str
    """What the paper says, as it stands after "the claim that" """
    holds: bool | None
    """None where what was measured leaves it open"""
    evidence: str

    @property
    def state(self) -> str:
        """Say in words whether it holds."""
        return _STATES[self.holds]

    def sentence(self) -> str:
        """Return the claim with its evidence as a sentence."""
        return f"The paper's claim that {self.text} {self.state} here: {self.evidence}."

    def data(self) -> dict[str, Any]:
        """Return the claim as plain JSON."""
        return {**self._asdict(), "state": self.state, "sentence": self.sentence()}


NEGLIGIBLE = 1.0
"""Points of micro-F1 below which a loss or a gain counts as none."""


class Wanted(NamedTuple):
    """On which side of which value a difference must lie for a claim to hold."""

    side: int
    beyond: float = 0.0
    """In points"""


ABOVE = Wanted(1)
BELOW = Wanted(-1)
NOT_ABOVE = Wanted(-1, NEGLIGIBLE)
NOT_BELOW = Wanted(1, -NEGLIGIBLE)

MOST = 4
"""More differences than that are not all listed."""

FEW = 0.25
"""Where fewer of the documents have more than one label, an order of labels has little to say."""


def judged(claim: str, found: Sequence[Contrast], wanted: Wanted, lead: str = "") -> list[Claim]:
    """Judge a claim by the differences that it is about, told after `lead`; nothing where there are none."""
    if not found:
        return []
    speaks = _speaks(found, wanted)
    holds = False if False in speaks else None if None in speaks else True
    decisive = [one for one, says in zip(found, speaks, strict=True) if says is holds]
    evidence = [lead + _listed(decisive, len(found), holds=holds)]
    if wanted.beyond:
        evidence.append(f"less than {NEGLIGIBLE:g} point counts as none")
    if holds is None:
        evidence.append(outlook(decisive, wanted, len(found)))
    return [Claim(claim, holds, "; ".join(evidence))]


def _speaks(found: Sequence[Contrast], wanted: Wanted) -> list[bool | None]:
    """Say for each difference whether it speaks for the claim, against it, or not at all."""
    beyond = wanted.beyond / 100
    chances = [one.compared.difference.chance(beyond) for one in found]
    speaks: list[bool | None] = []
    for one, chance, adjusted in zip(found, chances, holm(chances), strict=True):
        agrees = wanted.side * (one.compared.difference.value - beyond) > 0
        sure = chance if agrees else adjusted
        speaks.append(agrees if sure is not None and sure < SIGNIFICANT else None)
    return speaks


def _listed(decisive: Sequence[Contrast], among: int, *, holds: bool | None) -> str:
    """List what decided; of very many the closest ones."""
    closest = sorted(decisive, key=lambda one: abs(one.points))[:MOST]
    shown = [one for one in decisive if one in closest]
    texts = "; ".join(one.text_with_interval() for one in shown)
    how = {True: "are significant", False: "speak against it", None: "are not settled"}[holds]
    if len(decisive) == among <= MOST:
        return texts
    which = f", {'among them' if holds is not True else 'the closest'}" if len(shown) < len(decisive) else ""
    return f"{len(decisive)} of {among} differences {how}{which}: {texts}"


def outlook(found: Sequence[Contrast], wanted: Wanted, tests: int) -> str:
    """Say what it would take to settle what is open, being some of several tests."""
    estimates = [one.compared.difference for one in found]
    if any(one.few for one in estimates):
        return f"fewer than three seeds allow no test of methods, train at least {FEWEST_SEEDS}"
    beyond = wanted.beyond / 100
    levels = [_level(one, wanted, tests) for one in estimates]
    asked = list(zip(estimates, levels, strict=True))
    if not all(one.can_settle(beyond, level) for one, level in asked):
        return "not significant, and no number of seeds would settle it on these documents"
    needed = [one.seeds_to_settle(beyond, level) for one, level in asked]
    numbers = [one for one in needed if one is not None]
    if len(numbers) < len(needed):
        power = f"{100 * POWER:.0f} %"
        return f"not significant; more seeds may settle it, with less than {power} power on these documents"
    most = max(numbers)
    about = f"more than {MANY_SEEDS}" if most >= MANY_SEEDS else f"about {most}"
    return (
        f"not significant; {about} seeds of each would settle it, were the differences as large as they seem"
    )


def _level(estimate: Estimate, wanted: Wanted, tests: int) -> float:
    """Return the p that a difference needs: by itself for the claim, after Holm's adjustment against it."""
    agrees = wanted.side * (estimate.value - wanted.beyond / 100) > 0
    return SIGNIFICANT if agrees else SIGNIFICANT / tests


def above_all_baselines(comparison: Comparison) -> list[Claim]:
    """Judge the first claim: each Seq2Set over each baseline, none of which is chosen by what it reached."""
    others = [one for one in comparison.summaries if one.model in baselines()]
    ours = [one for one in comparison.summaries if one.model not in baselines()]
    found = margins([Pair(one, other) for one in ours for other in others])
    return judged("both Seq2Sets lie above all baselines", found, ABOVE)


def few_labels(summary: Summary) -> list[str]:
    """Say that order can hardly matter, where few documents have labels to put in order."""
    sizes = np.diff(summary.results[0].answers.actual.ends)
    share = float((sizes > 1).mean())
    if share >= FEW:
        return []
    return [
        f"Only {100 * share:.0f} % of the documents have more than one label ({sizes.mean():.2f} per "
        "document; the paper's corpora have 3.24 and 2.41), so that the order of labels can hardly matter "
        "here."
    ]
