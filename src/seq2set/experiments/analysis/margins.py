"""Margins between rows in points of micro-F1 (hundredths), and the paper's claims, judged by tests of them.

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

from seq2set.experiments.analysis.comparison import Difference, Summary, adjust_differences
from seq2set.experiments.analysis.estimates import (
    FEWEST_SEEDS,
    MANY_SEEDS,
    POWER,
    SIGNIFICANT,
    Interval,
    adjust_by_holm,
)
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
class Contrast(Difference):
    """A difference between rows, or between differences of rows, and how sure it is."""

    title: str
    """What is told apart, as it stands before "+1.2 points" """
    unit: str = "points"
    """What a hundredth is called"""

    @property
    def points(self) -> float:
        """The difference in hundredths."""
        return 100 * self.estimate.value

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the difference in hundredths."""
        return Interval(*(100 * end for end in self.estimate.interval))

    @property
    def verdict(self) -> str:
        """Say whether it is significant."""
        if self.chance is None:
            return NOT_TESTED
        return "significant" if self.side else "not significant"

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
    found = estimate_contrasts([(pair.title, subtract(*pair)) for pair in pairs])
    return [Margin(**vars(one), pair=pair) for one, pair in zip(found, pairs, strict=True)]


def estimate_contrasts(wanted: Sequence[tuple[str, Terms]], unit: str = "points") -> list[Contrast]:
    """Test several combinations of rows, each under a title; p are adjusted for their number."""
    found = adjust_differences([combine(terms) for _, terms in wanted])
    titled = [(title, unit) for title, _ in wanted]
    return [Contrast(one.estimate, one.chance, *more) for one, more in zip(found, titled, strict=True)]


def subtract(ours: Summary, theirs: Summary) -> Terms:
    """Return what says by how much one row lies above another."""
    return [(1.0, ours.f1), (-1.0, theirs.f1)]


def compare_steps(first: Mapping[Any, Summary], last: Mapping[Any, Summary]) -> list[Contrast]:
    """Compare rows with themselves at an earlier step, where both are known."""
    both = [(last[key], row) for key, row in first.items() if key in last]
    return estimate_contrasts([(row.title, subtract(row, before)) for row, before in both])


def subtract_pairs(one: Pair, other: Pair) -> Terms:
    """Return what says by how much one pair is further apart than another: a difference of differences."""
    return [*subtract(*one), *((-factor, row) for factor, row in subtract(*other))]


def format_points(points: float | None) -> str:
    """Return points as they stand in a sentence; a dash where there are none."""
    return format_entry(None if points is None else Quantity(points, 1, signed=True))


def summarize_margins(found: Sequence[Contrast]) -> str:
    """Say which margins are significant; the rest stands in their table."""
    tested = [one for one in found if one.chance is not None]
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


NEGLIGIBLE = 1.0
"""Points of micro-F1 below which a loss or a gain counts as none."""

MOST = 4
"""More differences than that are not all listed."""


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
        return {True: "holds", False: "does not hold", None: "is left open"}[self.holds]

    def sentence(self) -> str:
        """Return the claim with its evidence as a sentence."""
        return f"The paper's claim that {self.text} {self.state} here: {self.evidence}."

    def data(self) -> dict[str, Any]:
        """Return the claim as plain JSON."""
        return {**self._asdict(), "state": self.state, "sentence": self.sentence()}


class Expectation(NamedTuple):
    """On which side of which value a difference must lie for a claim to hold."""

    side: int
    beyond: float = 0.0
    """In points"""


ABOVE = Expectation(1)
BELOW = Expectation(-1)
NOT_ABOVE = Expectation(-1, NEGLIGIBLE)
NOT_BELOW = Expectation(1, -NEGLIGIBLE)


def judge_claims(
    text: str, differences: Sequence[Contrast], expected: Expectation, where: str = ""
) -> list[Claim]:
    """Judge a claim by the differences that it is about, told after `where`; none where there are none."""
    if not differences:
        return []
    same = "are the same trainings by construction, which is not tested"
    told = [f"{one.title} {same}" for one in differences if one.estimate.same]
    differences = [one for one in differences if not one.estimate.same]
    if not differences:
        return [Claim(text, None, "; ".join(told))]
    beyond = expected.beyond / 100
    chances = [one.estimate.compute_p(beyond) for one in differences]
    verdicts: list[bool | None] = []  # whether each speaks for the claim, against it, or not at all
    for one, chance, adjusted in zip(differences, chances, adjust_by_holm(chances), strict=True):
        agrees = expected.side * (one.estimate.value - beyond) > 0
        sure = chance if agrees else adjusted
        verdicts.append(agrees if sure is not None and sure < SIGNIFICANT else None)
    holds = False if False in verdicts else None if None in verdicts else True
    decisive = [one for one, says in zip(differences, verdicts, strict=True) if says is holds]
    evidence = [where + _list_decisive(decisive, len(differences), holds=holds)]
    if expected.beyond:
        evidence.append(f"less than {NEGLIGIBLE:g} point counts as none")
    if holds is None:
        evidence.append(advise(decisive, expected, len(differences)))
    return [Claim(text, holds, "; ".join([*evidence, *told]))]


def _list_decisive(decisive: Sequence[Contrast], among: int, *, holds: bool | None) -> str:
    """List what decided; of very many the closest ones."""
    closest = sorted(decisive, key=lambda one: abs(one.points))[:MOST]
    shown = [one for one in decisive if one in closest]
    texts = "; ".join(one.text_with_interval() for one in shown)
    how = {True: "are significant", False: "speak against it", None: "are not settled"}[holds]
    if len(decisive) == among <= MOST:
        return texts
    which = f", {'among them' if holds is not True else 'the closest'}" if len(shown) < len(decisive) else ""
    return f"{len(decisive)} of {among} differences {how}{which}: {texts}"


def advise(differences: Sequence[Contrast], expected: Expectation, tests: int) -> str:
    """Say what it would take to settle what is open, being some of several tests."""
    estimates = [one.estimate for one in differences]
    if any(one.few for one in estimates):
        return f"fewer than three seeds allow no test of methods, train at least {FEWEST_SEEDS}"
    beyond = expected.beyond / 100
    # A difference needs its p by itself to speak for the claim, and after Holm's adjustment against it.
    agrees = [expected.side * (one.value - beyond) > 0 for one in estimates]
    levels = [SIGNIFICANT if one else SIGNIFICANT / tests for one in agrees]
    if not all(one.can_settle(beyond, level) for one, level in zip(estimates, levels, strict=True)):
        return "not significant, and no number of seeds would settle it on these documents"
    needed = [one.count_seeds_to_settle(beyond, level) for one, level in zip(estimates, levels, strict=True)]
    numbers = [one for one in needed if one is not None]
    if len(numbers) < len(needed):
        power = f"less than {100 * POWER:.0f} % power"
        return f"not significant; more seeds may settle it, with {power} on these documents"
    about = f"more than {MANY_SEEDS}" if max(numbers) >= MANY_SEEDS else f"about {max(numbers)}"
    seeds = f"{about} seeds of each would settle it"
    return f"not significant; {seeds}, were the differences as large as they seem"
