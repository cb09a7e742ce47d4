"""How far scores can be taken for probabilities: calibration error, Brier score, log loss, reliability bins.

Counts add up over batches, in memory that does not grow with the documents: scores fall into a fine grid of
cells, and neighbouring cells join into bins of about the same weight afterwards. Within a cell the scores are
summed exactly, so that only the bins' edges are rounded to the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.labels.metrics import add_counts

BINS = 15
TOP = 0.05
"""Labels that score less are suggested nowhere; most labels of a text do, and would drown the others."""
_GRID = np.concatenate([np.geomspace(1e-6, TOP, 400, endpoint=False), np.linspace(TOP, 1, 2_000)])
_FLOOR = 1e-6
"""How far scores of 0 and 1 count as away from it in the log loss, which would be infinite."""

Reals = NDArray[np.float64]


class ReliabilityBin(NamedTuple):
    """Scores of about the same size: how many, their mean, and the share of them that was right."""

    scores: int
    score: float
    right: float
    low: float
    """The 95 % interval of the share, by Wilson"""
    high: float


@dataclass(frozen=True, eq=False)
class ReliabilityCounts:
    """Scores and whether their labels were right, counted in a grid of G cells."""

    counts: Reals  # (G,)
    scores: Reals  # (G,) sums
    right: Reals  # (G,)
    squares: float
    logs: float

    @classmethod
    def of(cls, scores: NDArray[np.float32], actual: NDArray[np.bool_]) -> ReliabilityCounts:
        """Count the scores (N, L) of labels that are right or not (N, L)."""
        values, right = scores.ravel().astype(np.float64), actual.ravel()
        cells = np.searchsorted(_GRID, values, side="right")
        size = len(_GRID) + 1
        chance = np.clip(np.where(right, values, 1 - values), _FLOOR, 1)
        return cls(
            np.bincount(cells, minlength=size).astype(float),
            np.bincount(cells, values, size).astype(float),
            np.bincount(cells, right, size).astype(float),
            float(np.square(values - right).sum()),
            float(-np.log(chance).sum()),
        )

    def __add__(self, other: ReliabilityCounts) -> ReliabilityCounts:
        return add_counts(self, other)

    def metrics(self) -> dict[str, float]:
        """Return the calibration error of suggestions and of all labels, Brier score and log loss."""
        total = max(self.counts.sum(), 1.0)
        return {
            "calibration_error": _compute_error(self.bins()),
            "calibration_error_all": _compute_error(self.bins(0.0)),
            "brier": float(self.squares / total),
            "log_loss": float(self.logs / total),
        }

    def describe(self) -> str:
        """Say how far the scores can be taken for probabilities."""
        found = self.metrics()
        return (
            f"calibration error {found['calibration_error']:.3f} of labels that score {TOP:g} or more, "
            f"Brier score {found['brier']:.4f}, log loss {found['log_loss']:.3f}"
        )

    def bins(self, least: float = TOP, most: int = BINS) -> list[ReliabilityBin]:
        """Return the scores of at least `least` in up to `most` bins of about the same weight."""
        first = int(np.searchsorted(_GRID, least, side="right")) if least > 0 else 0
        counts = self.counts[first:]
        if not counts.sum():
            return []
        before = np.cumsum(counts) - counts
        bins = np.minimum((before + counts / 2) * most / counts.sum(), most - 1).astype(int)
        sums = [np.bincount(bins, one[first:], most) for one in (self.counts, self.scores, self.right)]
        return [_make_bin(*row) for row in zip(*sums, strict=True) if row[0]]


def _make_bin(count: float, score: float, right: float) -> ReliabilityBin:
    low, high = compute_wilson_interval(right, count)
    return ReliabilityBin(int(count), float(score / count), float(right / count), low, high)


def compute_wilson_interval(right: float, count: float) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's score."""
    z = 1.959964
    share, part = right / count, z * z / count
    middle = (share + part / 2) / (1 + part)
    half = z / (1 + part) * np.sqrt(share * (1 - share) / count + part / (4 * count))
    # Rounding must not put the share itself outside.
    return min(share, max(0.0, float(middle - half))), max(share, min(1.0, float(middle + half)))


def _compute_error(bins: list[ReliabilityBin]) -> float:
    """Return the mean distance between score and share of right labels, weighted by the bins' counts."""
    total = sum(one.scores for one in bins)
    return sum(one.scores * abs(one.score - one.right) for one in bins) / max(total, 1)
