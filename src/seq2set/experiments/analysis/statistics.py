"""Figures that are ratios of sums over documents, and linear combinations of them.

A figure is a ratio of sums over documents, such as micro-F1, the sum of 2 x right over the sum of given and
actual. A row of a table is its mean over trainings; a difference of rows, or a difference of differences, is
a linear combination of such means. The variance of a combination has one part for the documents and one for
each row that draws at random:

- documents: the linearised ratio (how far each document pulls it up or down), the same documents in all rows,
  so that what is hard for all models cancels out; documents of one group are summed first. A large unit pulls
  the ratio towards itself and hides its own distance, so that its square counts by 1 / (1 - its share), and
  units of unequal size are worth fewer degrees of freedom (1 / the sum of the squared shares);
- seeds: the sample variance of a row's trainings over their number; rows are trained independently.

Trainings are compared on the same documents, so that what a seed does to single documents is in both parts:
an error on the careful side.

Shapes: S seeds, N documents, U units (groups of documents, or documents).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.experiments.analysis.estimates import FEWEST_SEEDS, NOTHING, Estimate, Variance

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasuredRatio:
    """A ratio of sums over documents, for each training of a row."""

    trainings: tuple[str, ...]
    """What tells the S trainings from others: the same trainings, measured in another way, move together"""
    random: bool
    """Whether another seed would give another model"""
    units: npt.NDArray[Any]  # (U,)
    sums: Floats  # (S, U, 2): what is divided, and by what

    @classmethod
    def of(
        cls, parts: npt.ArrayLike, units: npt.ArrayLike, trainings: Sequence[str], *, random: bool = True
    ) -> MeasuredRatio:
        """Sum the documents' parts (S, N, 2) over the units that they belong to, (N,)."""
        documents = np.asarray(parts, np.float64)
        names, places = np.unique(np.asarray(units), return_inverse=True)
        sums = [[np.bincount(places, one, len(names)) for one in documents[..., part]] for part in (0, 1)]
        return cls(tuple(trainings), random, names, np.stack(sums, axis=-1))

    @cached_property
    def values(self) -> Floats:
        """The ratio of each training, (S,); 0 where there is nothing to divide by."""
        whole = self.sums.sum(axis=1)  # (S, 2)
        return _divide(whole[:, 0], whole[:, 1])

    @cached_property
    def pulls(self) -> Floats:
        """How far each unit pulls the ratio of each training up or down, (S, U)."""
        by = self.sums[..., 1].sum(axis=1, keepdims=True)  # (S, 1)
        return _divide(self.sums[..., 0] - self.values[:, None] * self.sums[..., 1], by)

    @property
    def estimate(self) -> Estimate:
        """The mean over the trainings."""
        return combine([(1.0, self)])


def compute_f1_parts(counts: npt.ArrayLike) -> Floats:
    """Return what micro-F1 divides and by what, (..., 2), of counts right, given and actual, (..., 3)."""
    right, given, actual = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    return np.stack([2 * right, given + actual], axis=-1)


def combine(terms: Sequence[tuple[float, MeasuredRatio]]) -> Estimate:
    """Return the linear combination of rows that the factors say, such as (1, ours) and (-1, theirs)."""
    aligned = _align(terms)
    merged = _merge(aligned)
    means = [one.pulls.mean(axis=0) for one in merged]  # (U,) each
    pull = np.sum(means, axis=0)
    weights = [one.sums[..., 1].mean(axis=0) for _, one in aligned]  # (U,) each
    # The share that each unit has in what rows divide by, (U,), on average over rows.
    shares = np.mean([_divide(one, one.sum()) for one in weights], axis=0)
    told = _count_telling(merged, pair=len(terms) == 2)
    degrees = min(max(told - 1, 1), max(1 / max((shares**2).sum(), NOTHING) - 1, 1))
    # Another seed moves nothing where a row is subtracted from itself.
    moving = [one.values for one in merged if one.random and (abs(one.sums) > NOTHING).any()]
    often = [values for values in moving if len(values) >= FEWEST_SEEDS]
    return Estimate(
        value=float(sum(one.values.mean() for one in merged)),
        documents=Variance(float((pull**2 / np.maximum(1 - shares, NOTHING)).sum()), degrees),
        seeds=tuple(Variance(float(values.var(ddof=1)) / len(values), len(values) - 1) for values in often),
        few=len(often) < len(moving),
        told=told,
        alike=len(pull) - told,
        same=all((abs(one.sums) <= NOTHING).all() for one in merged),
    )


class _Merged(NamedTuple):
    """All that a combination has of the same trainings."""

    random: bool
    values: Floats  # (S,)
    pulls: Floats  # (S, U)
    sums: Floats  # (S, U, 2)


def _merge(terms: Sequence[tuple[float, MeasuredRatio]]) -> list[_Merged]:
    found: dict[tuple[str, ...], _Merged] = {}
    for factor, one in terms:
        new = _Merged(one.random, factor * one.values, factor * one.pulls, factor * one.sums)
        if (old := found.get(one.trainings)) is not None:
            new = _Merged(old.random, *(a + b for a, b in zip(old[1:], new[1:], strict=True)))
        found[one.trainings] = new
    return list(found.values())


def _count_telling(merged: Sequence[_Merged], *, pair: bool) -> int:
    """Count the units that tell something: on which a pair differs, or that any of several rows counts."""
    counted = np.stack([one.sums.mean(axis=0) for one in merged])  # (rows, U, 2)
    found = abs(counted.sum(axis=0) if pair else counted) > NOTHING
    return int(found.reshape(-1, *counted.shape[1:]).any(axis=(0, 2)).sum())


def _align(terms: Sequence[tuple[float, MeasuredRatio]]) -> list[tuple[float, MeasuredRatio]]:
    """Give all rows the same units; what was not measured in a row does not move it."""
    first = terms[0][1].units
    if all(one.units is first or np.array_equal(one.units, first) for _, one in terms):
        return list(terms)
    units = np.unique(np.concatenate([one.units for _, one in terms]))
    aligned = []
    for factor, one in terms:
        sums = np.zeros((len(one.sums), len(units), 2))
        sums[:, np.searchsorted(units, one.units)] = one.sums
        aligned.append((factor, replace(one, units=units, sums=sums)))
    return aligned


def _divide(part: Floats, whole: Floats) -> Floats:
    whole = np.broadcast_to(whole, part.shape)
    ratio: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return ratio
