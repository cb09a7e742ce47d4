"""How often two methods are called different: equal ones (false alarms) and others (power).

::

    python tools/simulate_statistics.py [--replicates 1000]

Documents have four labels each. How hard a document is, is the same for all models; each training finds a
label with a probability that its seed shifts, and gives wrong labels at random. Where there are groups, what
a training does to one document it does to all of a group; of unequal groups there are twenty, the largest of
which has 28 % of the documents, and what a method does to them it does with every seed. The seed's standard
deviation of 0.08 in the logit is about that of the Seq2Sets on debtags (0.012 in micro-F1); with 0.3 seeds
are nearly all of the variance. A better method is better by 0.12 in the logit.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.experiments.analysis.estimates import SIGNIFICANT
from seq2set.experiments.analysis.statistics import MeasuredRatio, combine, compute_f1_parts

LABELS, WRONG, EASE, GROUP = 4, 1.1, 0.58, 3
UNEQUAL = np.repeat(np.arange(20), 1 + 167 // np.arange(1, 21))
BETTER = 0.12
GROUPS = ("no", "of three", "20 unequal")


class World(NamedTuple):
    """What the trainings of two methods are like."""

    seeds: int
    seed_deviation: float
    grouped: bool
    better: float = 0.0
    """By how much the first method is better, in the logit"""
    fixed: bool = False
    """Whether the second method draws nothing at random"""
    documents: int = 1463
    unequal: bool = False
    """Whether the documents come in few groups of unequal size"""

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """The group of each document."""
        if self.unequal:
            return UNEQUAL
        return np.arange(self.documents) // (GROUP if self.grouped else 1)


def rejected(world: World, replicates: int, seed: int = 1) -> float | None:
    """Return how often the methods are called different; None where no p is given at all."""
    draw = np.random.default_rng(seed)
    chances = [_chance(world, draw) for _ in range(replicates)]
    known = [one for one in chances if one is not None]
    return sum(one < SIGNIFICANT for one in known) / replicates if known else None


def _chance(world: World, draw: np.random.Generator) -> float | None:
    places = world.places
    hardness = draw.normal(0, 1, len(places))
    ours = _trained("ours", world, world.better, places, hardness, draw)
    theirs = _trained("theirs", world, 0.0, places, hardness, draw)
    return combine([(1.0, ours), (-1.0, theirs)]).compute_p()


def _trained(
    name: str,
    world: World,
    better: float,
    places: npt.NDArray[np.int64],
    hardness: npt.NDArray[np.float64],
    draw: np.random.Generator,
) -> MeasuredRatio:
    fixed = world.fixed and name == "theirs"
    if world.unequal:
        hardness = hardness + draw.normal(0, 1.0, places[-1] + 1)[places]
    seeds, deviation = (1, 0.0) if fixed else (world.seeds, world.seed_deviation)
    trainings = [
        _counts(draw.normal(0, deviation) + better + hardness, places, world, draw) for _ in range(seeds)
    ]
    names = [f"{name}{seed}" for seed in range(seeds)]
    return MeasuredRatio.of(compute_f1_parts(np.stack(trainings)), places, names, random=not fixed)


def _counts(
    ease: npt.NDArray[np.float64], places: npt.NDArray[np.int64], world: World, draw: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return the counts of one training, (N, 3)."""
    shared = draw.normal(0, 1.0, places[-1] + 1)[places] if world.grouped else 0.0
    right = draw.binomial(LABELS, 1 / (1 + np.exp(-(EASE + ease + shared))))
    return np.stack([right, right + draw.poisson(WRONG, len(right)), np.full(len(right), LABELS)], axis=1)


def main(arguments: list[str]) -> int:
    """Print the table of docs/experiments.md."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replicates", type=int, default=1000)
    replicates = parser.parse_args(arguments).replicates
    lines = [
        "| seeds | seeds differ by | groups | other side | false alarms | power |",
        "|---|---|---|---|---|---|",
    ]
    for seeds, deviation, groups, fixed in product((3, 5), (0.0, 0.08, 0.16, 0.3), GROUPS, (False, True)):
        world = World(seeds, deviation, groups == "of three", fixed=fixed, unequal=groups == "20 unequal")
        alarms = rejected(world, replicates)
        power = rejected(world._replace(better=BETTER), replicates // 4)
        told = ["no p" if one is None else f"{100 * one:.1f} %" for one in (alarms, power)]
        cells = [str(seeds), f"{deviation:g}", groups, "deterministic" if fixed else "random", *told]
        lines.append(f"| {' | '.join(cells)} |")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
