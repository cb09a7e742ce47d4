"""The paper's claims, judged by tests of what was measured.

A claim is about one or several differences. It holds where every one of them is significant by itself, which
needs no adjustment: to be wrong, all tests would have to be (an intersection-union test). It does not hold
where one of them is significantly the other way after Holm's adjustment. Else it is left open. That a model
is "not worse" is never read from a test that found nothing: the difference must be significantly better than
a loss of `NEGLIGIBLE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seq2set.experiments.claim import Claim
from seq2set.experiments.comparison import Comparison
from seq2set.experiments.lineup import BASELINES
from seq2set.experiments.margins import Contrast, Pair, margins
from seq2set.experiments.statistics import FEWEST_SEEDS, MANY_SEEDS, POWER, SIGNIFICANT, Estimate, holm
from seq2set.experiments.summaries import Summary

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
    baselines = [one for one in comparison.summaries if one.model in BASELINES]
    ours = [one for one in comparison.summaries if one.model not in BASELINES]
    found = margins([Pair(one, other) for one in ours for other in baselines])
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
