"""How sure a figure is: what other test documents and other seeds would change about it.

A figure is a ratio of sums over documents, such as micro-F1, the sum of 2 x right over the sum of given and
actual. A row of a table is its mean over trainings; a difference of rows, or a difference of differences, is
a linear combination of such means. The variance of a combination has one part for the documents and one for
each row that draws at random:

- documents: the linearised ratio (how far each document pulls it up or down), the same documents in all rows,
  so that what is hard for all models cancels out; documents of one group are summed first. A large unit pulls
  the ratio towards itself and hides its own distance, so that its square counts by 1 / (1 - its share), and
  units of unequal size are worth fewer degrees of freedom (1 / the sum of the squared shares);
- seeds: the sample variance of a row's trainings over their number; rows are trained independently.

The test is by t with Satterthwaite's degrees of freedom, for which the variance over seeds counts twice:
where three trainings happen to lie close together, the formula has too many. Trainings are compared on the
same documents, so that what a seed does to single documents is in both parts: an error on the careful side.
With fewer than three trainings of a model that draws at random too little is known about other seeds. Then
the interval speaks of the trained models alone, and there is no p.

Shapes: S seeds, N documents, U units (groups of documents, or documents).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

Floats = npt.NDArray[np.float64]

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

_NOTHING = 1e-12
"""What is smaller is a matter of rounding."""


class Spread(NamedTuple):
    """A mean over seeds and its deviation, where there are several."""

    mean: float
    deviation: float | None


class Interval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


class Variance(NamedTuple):
    """A part of an estimate's variance, and the degrees of freedom that it was estimated with."""

    value: float
    degrees: float


def spread(values: Sequence[float]) -> Spread:
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
        return float(sum(one.value for one in self._parts) ** 0.5)

    @property
    def degrees(self) -> float:
        """The degrees of freedom by Satterthwaite."""
        careful = [Variance(SEED_CAUTION * one.value, one.degrees) for one in self.seeds]
        parts = [self.documents, *careful]
        total = sum(one.value for one in parts)
        if total <= _NOTHING**2:
            return self.documents.degrees
        return total**2 / sum(one.value**2 / one.degrees for one in parts)

    @property
    def interval(self) -> Interval:
        """The 95 % interval: of the methods, or of these trained models where there are few seeds.

        Without ends where there is one unit, which tells nothing about others.
        """
        if self._told + self.alike < 2:
            return Interval(-np.inf, np.inf)
        reach = self.error * float(stdtrit(self.degrees, (1 + COVERAGE) / 2))
        return Interval(self.value - reach, self.value + reach)

    def chance(self, supposed: float = 0.0) -> float | None:
        """Return the two-sided p of what was seen if the true value were `supposed`; None with few seeds."""
        if self.few:
            return None
        distance = abs(self.value - supposed)
        if distance <= _NOTHING:
            return 1.0
        tail = float(stdtr(self.degrees, -distance / self.error)) if self.error > _NOTHING else 0.0
        return min(1.0, max(2 * tail, self._least(distance, supposed)))

    def _least(self, distance: float, supposed: float) -> float:
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
        return distance > reach and self._least(distance, supposed) < level

    def seeds_to_settle(self, supposed: float = 0.0, level: float = SIGNIFICANT) -> int | None:
        """Return how many seeds of each row would probably tell the value from `supposed`.

        The value is taken to be what was seen; there are more seeds than were trained. None where no number
        has the power that is wanted, since these documents alone leave too much open.
        """
        distance = abs(self.value - supposed)
        least = self._least(distance, supposed)
        if not self.seeds or least >= level or distance <= replace(self, seeds=())._found_from(level):
            return None
        variances = [one.value * (one.degrees + 1) for one in self.seeds]  # of a single training
        trained = max(round(one.degrees) + 1 for one in self.seeds)
        for number in range(max(FEWEST_SEEDS, trained + 1), MANY_SEEDS):
            planned = tuple(Variance(one / number, number - 1) for one in variances)
            if distance >= replace(self, seeds=planned)._found_from(level):
                return number
        return MANY_SEEDS

    def _found_from(self, level: float) -> float:
        """Return the distance from which on a test at a level finds it with the power that is wanted."""
        tails = float(stdtrit(self.degrees, 1 - level / 2) + stdtrit(self.degrees, POWER))
        return self.error * tails

    @property
    def _told(self) -> int:
        return round(self.documents.degrees) + 1 if self.told is None else self.told

    @property
    def _parts(self) -> tuple[Variance, ...]:
        return (self.documents, *self.seeds)


@dataclass(frozen=True, eq=False)
class Measured:
    """A ratio of sums over documents, for each training of a row."""

    trainings: tuple[str, ...]
    """What tells the S trainings from others: the same trainings, measured in another way, move together"""
    random: bool
    """Whether another seed would give another model"""
    units: npt.NDArray[Any]  # (U,)
    sums: Floats  # (S, U, 2): what is divided, and by what

    @classmethod
    def of(
        cls,
        parts: npt.ArrayLike,
        units: npt.ArrayLike,
        trainings: Sequence[str],
        *,
        random: bool = True,
    ) -> Measured:
        """Sum the documents' parts (S, N, 2) over the units that they belong to, (N,)."""
        documents = np.asarray(parts, np.float64)
        names, places = np.unique(np.asarray(units), return_inverse=True)
        sums = np.zeros((documents.shape[0], len(names), 2))
        for place in range(2):
            for seed, column in enumerate(documents[..., place]):
                sums[seed, :, place] = np.bincount(places, column, len(names))
        return cls(tuple(trainings), random, names, sums)

    @cached_property
    def values(self) -> Floats:
        """The ratio of each training, (S,); 0 where there is nothing to divide by."""
        whole = self.sums.sum(axis=1)  # (S, 2)
        return _ratio(whole[:, 0], whole[:, 1])

    @cached_property
    def pulls(self) -> Floats:
        """How far each unit pulls the ratio of each training up or down, (S, U)."""
        by = self.sums[..., 1].sum(axis=1, keepdims=True)  # (S, 1)
        return _ratio(self.sums[..., 0] - self.values[:, None] * self.sums[..., 1], by)

    @property
    def estimate(self) -> Estimate:
        """The mean over the trainings."""
        return combine([(1.0, self)])

    def combined(self, terms: Sequence[tuple[float, Measured]]) -> Estimate:
        """Return a linear combination of rows, this one being among them; `combine` is the way to ask."""
        aligned = _aligned(terms)
        merged = _merged(aligned)
        means = [one.pulls.mean(axis=0) for one in merged]  # (U,) each
        pull = np.sum(means, axis=0)
        shares = _shares(aligned)
        told = _telling(merged, pair=len(terms) == 2)
        degrees = min(max(told - 1, 1), max(1 / max((shares**2).sum(), _NOTHING) - 1, 1))
        moving = [one for one in merged if one.moves]
        return Estimate(
            value=float(sum(one.values.mean() for one in merged)),
            documents=Variance(float((pull**2 / np.maximum(1 - shares, _NOTHING)).sum()), degrees),
            seeds=tuple(_over_seeds(one.values) for one in moving if len(one.values) >= FEWEST_SEEDS),
            few=any(len(one.values) < FEWEST_SEEDS for one in moving),
            told=told,
            alike=len(pull) - told,
            same=all((abs(one.sums) <= _NOTHING).all() for one in merged),
        )


def f1_parts(counts: npt.ArrayLike) -> Floats:
    """Return what micro-F1 divides and by what, (..., 2), of counts right, given and actual, (..., 3)."""
    right, given, actual = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    return np.stack([2 * right, given + actual], axis=-1)


def combine(terms: Sequence[tuple[float, Measured]]) -> Estimate:
    """Return the linear combination of rows that the factors say, such as (1, ours) and (-1, theirs)."""
    return terms[0][1].combined(terms)


def holm(chances: Sequence[float | None]) -> list[float | None]:
    """Adjust several p, so that one false alarm among all stays as rare as promised; None stays None."""
    known = [place for place, one in enumerate(chances) if one is not None]
    order = sorted(known, key=lambda place: chances[place] or 0.0)
    adjusted: list[float | None] = [None] * len(chances)
    largest = 0.0
    for left, place in zip(range(len(order), 0, -1), order, strict=True):
        largest = max(largest, min(1.0, left * (chances[place] or 0.0)))
        adjusted[place] = largest
    return adjusted


class _Merged(NamedTuple):
    """All that a combination has of the same trainings."""

    random: bool
    values: Floats  # (S,)
    pulls: Floats  # (S, U)
    sums: Floats  # (S, U, 2)

    @property
    def moves(self) -> bool:
        """Whether another seed would change it: not where a row is subtracted from itself."""
        return self.random and bool((abs(self.sums) > _NOTHING).any())


def _merged(terms: Sequence[tuple[float, Measured]]) -> list[_Merged]:
    found: dict[tuple[str, ...], _Merged] = {}
    for factor, one in terms:
        new = _Merged(one.random, factor * one.values, factor * one.pulls, factor * one.sums)
        if (old := found.get(one.trainings)) is not None:
            new = _Merged(old.random, *(a + b for a, b in zip(old[1:], new[1:], strict=True)))
        found[one.trainings] = new
    return list(found.values())


def _shares(terms: Sequence[tuple[float, Measured]]) -> Floats:
    """Return the share that each unit has in what rows divide by, (U,), on average over rows."""
    weights = [one.sums[..., 1].mean(axis=0) for _, one in terms]  # (U,) each
    shares: Floats = np.mean([_ratio(one, one.sum()) for one in weights], axis=0)
    return shares


def _telling(merged: Sequence[_Merged], *, pair: bool) -> int:
    """Count the units that tell something: on which a pair differs, or that any of several rows counts."""
    counted = np.stack([one.sums.mean(axis=0) for one in merged])  # (rows, U, 2)
    found = abs(counted.sum(axis=0) if pair else counted) > _NOTHING
    return int(found.reshape(-1, *counted.shape[1:]).any(axis=(0, 2)).sum())


def _aligned(terms: Sequence[tuple[float, Measured]]) -> list[tuple[float, Measured]]:
    """Give all rows the same units; what was not measured in a row pulls it nowhere."""
    first = terms[0][1].units
    if all(one.units is first or np.array_equal(one.units, first) for _, one in terms):
        return list(terms)
    units = np.unique(np.concatenate([one.units for _, one in terms]))
    return [(factor, _spread_out(one, units)) for factor, one in terms]


def _spread_out(measured: Measured, units: npt.NDArray[Any]) -> Measured:
    sums = np.zeros((len(measured.sums), len(units), 2))
    sums[:, np.searchsorted(units, measured.units)] = measured.sums
    return replace(measured, units=units, sums=sums)


def _over_seeds(values: Floats) -> Variance:
    return Variance(float(values.var(ddof=1)) / len(values), len(values) - 1)


def _ratio(part: Floats, whole: Floats) -> Floats:
    whole = np.broadcast_to(whole, part.shape)
    ratio: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return ratio
