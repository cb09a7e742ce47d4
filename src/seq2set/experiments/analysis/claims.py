"""The paper's claims, judged by tests of what was measured.

A claim is about one or several differences. It holds where every one of them is significant by itself, which
needs no adjustment: to be wrong, all tests would have to be (an intersection-union test). It does not hold
where one of them is significantly the other way after Holm's adjustment. Else it is left open. That a model
is "not worse" is never read from a test that found nothing: the difference must be significantly better than
a loss of `NEGLIGIBLE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from seq2set.experiments.analysis.estimates import (
    FEWEST_SEEDS,
    MANY_SEEDS,
    POWER,
    SIGNIFICANT,
    Estimate,
    adjust_by_holm,
)
from seq2set.experiments.analysis.margins import Contrast

NEGLIGIBLE = 1.0
"""Points of micro-F1 below which a loss or a gain counts as none."""

MOST = 4
"""More differences than that are not all listed."""

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
    verdicts = _judge_each(differences, expected)
    holds = False if False in verdicts else None if None in verdicts else True
    decisive = [one for one, says in zip(differences, verdicts, strict=True) if says is holds]
    evidence = [where + _list_decisive(decisive, len(differences), holds=holds)]
    if expected.beyond:
        evidence.append(f"less than {NEGLIGIBLE:g} point counts as none")
    if holds is None:
        evidence.append(advise(decisive, expected, len(differences)))
    return [Claim(text, holds, "; ".join(evidence))]


def _judge_each(differences: Sequence[Contrast], expected: Expectation) -> list[bool | None]:
    """Say for each difference whether it speaks for the claim, against it, or not at all."""
    beyond = expected.beyond / 100
    chances = [one.difference.estimate.chance(beyond) for one in differences]
    verdicts: list[bool | None] = []
    for one, chance, adjusted in zip(differences, chances, adjust_by_holm(chances), strict=True):
        agrees = expected.side * (one.difference.estimate.value - beyond) > 0
        sure = chance if agrees else adjusted
        verdicts.append(agrees if sure is not None and sure < SIGNIFICANT else None)
    return verdicts


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
    estimates = [one.difference.estimate for one in differences]
    if any(one.few for one in estimates):
        return f"fewer than three seeds allow no test of methods, train at least {FEWEST_SEEDS}"
    beyond = expected.beyond / 100
    levels = [(one, _level_needed(one, expected, tests)) for one in estimates]
    if not all(one.can_settle(beyond, level) for one, level in levels):
        return "not significant, and no number of seeds would settle it on these documents"
    needed = [one.seeds_to_settle(beyond, level) for one, level in levels]
    numbers = [one for one in needed if one is not None]
    if len(numbers) < len(needed):
        power = f"{100 * POWER:.0f} %"
        return f"not significant; more seeds may settle it, with less than {power} power on these documents"
    most = max(numbers)
    about = f"more than {MANY_SEEDS}" if most >= MANY_SEEDS else f"about {most}"
    return (
        f"not significant; {about} seeds of each would settle it, were the differences as large as they seem"
    )


def _level_needed(estimate: Estimate, expected: Expectation, tests: int) -> float:
    """Return the p that a difference needs: by itself for the claim, after Holm's adjustment against it."""
    agrees = expected.side * (estimate.value - expected.beyond / 100) > 0
    return SIGNIFICANT if agrees else SIGNIFICANT / tests
