"""Estimates: a figure, and how far other documents and other seeds would move it.

The test is by t with Satterthwaite's degrees of freedom, for which the variance over seeds counts twice:
where three trainings happen to lie close together, the formula has too many. With fewer than three trainings
of a model that draws at random too little is known about other seeds. Then the interval speaks of the trained
models alone, and there is no p.

Written by hand: scipy tests one sample or two, where an estimate here has a part of the variance for the
documents and one for each row's seeds, and it has no adjustment by Holm. Tests compare the parts with scipy's
bootstrap, its permutation test and Welch's test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from seq2set.labels.intervals import Interval as Interval

NOTHING = 1e-12
"""What is smaller is a matter of rounding."""

COVERAGE = 0.95
"""How many intervals of such experiments hold the true value."""

SIGNIFICANT = 0.05
"""Below this p a difference is significant."""

POWER = 0.8
"""With which probability as many seeds as are advised would find a difference as large as the one seen."""

MANY_SEEDS = 100
"""More seeds than that are no advice."""

FEWEST_SEEDS = 3
"""With fewer seeds of a model that draws at random there is no test."""

SEED_CAUTION = 2.0
"""How many times the variance over seeds counts for the degrees of freedom."""


class Spread(NamedTuple):
    """A mean over seeds and its deviation, where there are several."""

    mean: float
    deviation: float | None


class Variance(NamedTuple):
    """A part of an estimate's variance, and the degrees of freedom that it was estimated with."""

    value: float
    degrees: float


def compute_spread(values: Sequence[float]) -> Spread:
    """Return the mean and the sample standard deviation."""
    several = len(values) > 1
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if several else None)


@dataclass(frozen=True)
class Estimate:
    """A combination of rows, and how far other documents and other seeds would move it."""

    value: float
    documents: Variance
    seeds: tuple[Variance, ...] = ()
    """One for each row that draws at random and was trained often enough"""
    few: bool = False
    """Whether a row that draws at random was trained with fewer than three seeds"""
    told: int | None = None
    """Units that tell something; unless given, one more than the degrees of freedom"""
    alike: int = 0
    """Units that were measured alike in all rows, beside those"""
    same: bool = False
    """Whether rows are subtracted from themselves, so that there is nothing to estimate"""

    @property
    def error(self) -> float:
        """The standard error."""
        return float(sum(one.value for one in (self.documents, *self.seeds)) ** 0.5)

    @property
    def degrees(self) -> float:
        """The degrees of freedom by Satterthwaite, and no more than those of the documents, or groups."""
        parts = [self.documents, *(Variance(SEED_CAUTION * one.value, one.degrees) for one in self.seeds)]
        total = sum(one.value for one in parts)
        if total <= NOTHING**2:
            return self.documents.degrees
        return min(total**2 / sum(one.value**2 / one.degrees for one in parts), self.documents.degrees)

    @property
    def interval(self) -> Interval:
        """The 95 % interval: of the methods, or of these trained models where there are few seeds.

        Without ends where there is one unit, which tells nothing about others.
        """
        if self._told + self.alike < 2:
            return Interval(-np.inf, np.inf)
        reach = self.error * float(stdtrit(self.degrees, (1 + COVERAGE) / 2))
        return Interval(self.value - reach, self.value + reach)

    def compute_p(self, supposed: float = 0.0) -> float | None:
        """Return the two-sided p of what was seen if the true value were `supposed`; None with few seeds."""
        if self.few:
            return None
        distance = abs(self.value - supposed)
        if distance <= NOTHING:
            return 1.0
        tail = float(stdtr(self.degrees, -distance / self.error)) if self.error > NOTHING else 0.0
        return min(1.0, max(2 * tail, self._find_least_p(distance, supposed)))

    def _find_least_p(self, distance: float, supposed: float) -> float:
        """Return a p that no test can go below, which matters where few units differ or none.

        Of m that differ no test by signs gives less than 2 / 2^m. And a distance of d from what is supposed
        leaves no trace on n units with a probability of about (1 - d)^n, however alike they were measured.
        """
        if self.same:
            return 0.0
        told = self._told
        return float((1 - min(distance, 1.0)) ** (told + self.alike)) if supposed else 2.0 ** (1 - told)

    def can_settle(self, supposed: float = 0.0, level: float = SIGNIFICANT) -> bool:
        """Return whether the value could be told from `supposed` if the seeds left nothing open."""
        distance = abs(self.value - supposed)
        alone = replace(self, seeds=())
        reach = alone.error * float(stdtrit(alone.degrees, 1 - level / 2))
        return distance > reach and self._find_least_p(distance, supposed) < level

    def count_seeds_to_settle(self, supposed: float = 0.0, level: float = SIGNIFICANT) -> int | None:
        """Return how many seeds of each row would probably tell the value from `supposed`.

        The value is taken to be what was seen; there are more seeds than were trained. None where no number
        has the power that is wanted, since these documents alone leave too much open.
        """
        distance = abs(self.value - supposed)
        least = self._find_least_p(distance, supposed)
        if not self.seeds or least >= level or distance <= replace(self, seeds=())._find_distance(level):
            return None
        variances = [one.value * (one.degrees + 1) for one in self.seeds]  # of a single training
        trained = max(round(one.degrees) + 1 for one in self.seeds)
        for number in range(max(FEWEST_SEEDS, trained + 1), MANY_SEEDS):
            planned = tuple(Variance(one / number, number - 1) for one in variances)
            if distance >= replace(self, seeds=planned)._find_distance(level):
                return number
        return MANY_SEEDS

    def _find_distance(self, level: float) -> float:
        """Return the distance from which on a test at a level finds it with the power that is wanted."""
        return self.error * float(stdtrit(self.degrees, 1 - level / 2) + stdtrit(self.degrees, POWER))

    @property
    def _told(self) -> int:
        return round(self.documents.degrees) + 1 if self.told is None else self.told


def adjust_by_holm(chances: Sequence[float | None]) -> list[float | None]:
    """Adjust several p, so that one false alarm among all stays as rare as promised; None stays None."""
    known = [place for place, one in enumerate(chances) if one is not None]
    order = sorted(known, key=lambda place: chances[place] or 0.0)
    adjusted: list[float | None] = [None] * len(chances)
    largest = 0.0
    for left, place in zip(range(len(order), 0, -1), order, strict=True):
        largest = max(largest, min(1.0, left * (chances[place] or 0.0)))
        adjusted[place] = largest
    return adjusted
