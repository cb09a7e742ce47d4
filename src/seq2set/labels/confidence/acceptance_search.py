"""Find the scores from which on labels may be accepted unseen: Learn then Test on validation documents.

For a group of labels thresholds are tested from the highest down; each test asks whether the share of right
labels above the threshold is less than wanted, and the first that cannot rule that out ends the walk. Walks
begin at several places, each with its part of the allowed error, since one that begins where few labels are
left may end by chance at once. Every threshold that was passed holds with the wanted confidence, however many
were tried (Angelopoulos et al., Learn then Test, 2021).

Labels of one document are not independent. The tests count them for as many as they are worth (the design
effect of surveys: Korn and Graubard, 1998), and are exact binomial ones beside that.

Shapes: N documents, L labels, P suggestions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.labels.confidence.calibrators import Scores

STARTS = 3
STEP = 1.2
"""Each threshold of a walk takes this many times as many suggestions as the one before"""
OWN = 10
"""A label of this many times the suggestions that a test needs is tested by itself; the others together."""


class Suggestions(NamedTuple):
    """Labels that a model suggests, each (P,)."""

    scores: Scores
    labels: npt.NDArray[np.intp]
    right: npt.NDArray[np.bool_]
    units: npt.NDArray[np.int64]
    """The document, or group of documents, of each"""

    @classmethod
    def of(
        cls,
        scores: Scores,
        given: npt.NDArray[np.bool_],
        right: npt.NDArray[np.bool_],
        units: npt.NDArray[np.int64],
    ) -> Suggestions:
        """List what is given (N, L)."""
        rows, labels = np.nonzero(given)
        return cls(scores[rows, labels], labels, right[rows, labels], units[rows])

    def pick(self, chosen: npt.NDArray[np.bool_]) -> Suggestions:
        """Return some of them."""
        return Suggestions._make(part[chosen] for part in self)


class AcceptedLabels(NamedTuple):
    """The score from which on each label may be accepted, and what that means on the documents."""

    thresholds: list[float | None]
    own: int
    """How many labels were tested by themselves"""
    suggested: int
    accepted: int
    right: int


def count_needed(precision: float, confidence: float) -> int:
    """Return how many right suggestions without a wrong one it takes to pass a test."""
    return int(np.ceil(np.log((1 - confidence) / STARTS) / np.log(precision)))


def find_accepted(found: Suggestions, labels: int, precision: float, confidence: float) -> AcceptedLabels:
    """Find a threshold for each label with many suggestions, and one for all the others together."""
    least = OWN * count_needed(precision, confidence)
    times = np.bincount(found.labels, minlength=labels)
    own = np.flatnonzero(times >= least)
    shared = find_threshold(found.pick(~np.isin(found.labels, own)), precision, confidence)
    thresholds = [shared] * labels
    for label in own.tolist():
        thresholds[label] = find_threshold(found.pick(found.labels == label), precision, confidence)
    limits = np.array([np.inf if one is None else one for one in thresholds])
    accepted = found.scores >= limits[found.labels].astype(np.float32)
    right = int(found.right[accepted].sum())
    return AcceptedLabels(thresholds, len(own), len(found.scores), int(accepted.sum()), right)


def find_threshold(found: Suggestions, precision: float, confidence: float) -> float | None:
    """Return the lowest score from which on the precision holds, or None where nothing shows that it does."""
    ordered = Suggestions._make(part[np.argsort(-found.scores, kind="stable")] for part in found)
    ends = list(_list_ends(ordered.scores, count_needed(precision, confidence)))
    passed: list[int] = []
    for start in sorted({place * len(ends) // STARTS for place in range(STARTS)} if ends else ()):
        for end in ends[start:]:
            if compute_p_value(ordered, end, precision) > (1 - confidence) / STARTS:
                break
            passed.append(end)
    return float(ordered.scores[max(passed) - 1]) if passed else None


def _list_ends(scores: Scores, least: int) -> Iterator[int]:
    """Yield how many of the highest scores each threshold takes; equal scores stay together."""
    wanted, last = float(least), 0
    while round(wanted) <= len(scores):
        end = int(np.searchsorted(-scores, -scores[round(wanted) - 1], side="right"))
        if end > last:
            yield end
        wanted, last = max(wanted * STEP, wanted + 1), end


def compute_p_value(ordered: Suggestions, end: int, precision: float) -> float:
    """Return how likely so few of the first suggestions are wrong if their precision is less than wanted."""
    from scipy.stats import beta

    wrong = ~ordered.right[:end]
    size = end / compute_design_effect(wrong, ordered.units[:end])
    few = wrong.mean() * size
    return float(beta.cdf(precision, size - few, few + 1))


def compute_design_effect(wrong: npt.NDArray[np.bool_], units: npt.NDArray[np.int64]) -> float:
    """Return how many labels of units together tell as much as an independent one; 1 at least.

    Without a wrong label nothing shows how errors go together, and each counts.
    """
    share = wrong.mean()
    if not 0 < share < 1:
        return 1.0
    _, unit = np.unique(units, return_inverse=True)
    excess = np.bincount(unit, wrong - share)
    variance = np.square(excess).sum() / len(wrong) ** 2
    return max(1.0, float(variance / (share * (1 - share) / len(wrong))))
