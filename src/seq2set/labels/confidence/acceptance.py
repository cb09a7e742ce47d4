"""Which labels may be accepted without a look: what a model knows of how sure it is, and how that is found.

Thresholds are found on validation documents by Learn then Test (Angelopoulos et al., 2021). For a group of
labels they are tested from the highest down; each test asks whether the share of right labels above the
threshold is less than wanted, and the first that cannot rule that out ends the walk. Walks begin at several
places, each with its part of the allowed error, since one that begins where few labels are left may end by
chance at once. Every threshold that was passed holds with the wanted confidence, however many were tried.

Labels of one document are not independent. The tests count them for as many as they are worth (the design
effect of surveys: Korn and Graubard, 1998), and are exact binomial ones beside that.

Shapes: N documents, L labels, P suggestions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import InputError, WorkError
from seq2set.labels.confidence.calibrators import Calibrator, Scores, read_calibrator

Mark = Literal["accept", "review"]


@dataclass(frozen=True)
class Acceptance:
    """From which score on each label may be accepted unseen, at a precision that was tested on documents."""

    precision: float
    confidence: float
    search: str
    """The search whose scores were tested"""
    thresholds: Sequence[float | None]
    """One per label; none where the evidence does not suffice"""

    def mark(self, label: int, score: float) -> Mark:
        """Say whether a label of this score may be accepted without a look."""
        least = self.thresholds[label]
        return "accept" if least is not None and score >= least else "review"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {**vars(self), "thresholds": list(self.thresholds)}


@dataclass(frozen=True)
class Confidence:
    """How a model's scores become probabilities, by search, and what may be accepted by them."""

    calibrators: Mapping[str, Calibrator] = field(default_factory=dict)
    acceptance: Acceptance | None = None

    def calibrate(self, search: str, scores: Scores, margins: Scores | None = None) -> Scores:
        """Return the probabilities (N, L) of a search's scores, or the scores as they are.

        Here come the scores of every model by, and those that are none go no further.
        """
        calibrator = self.calibrators.get(search)
        found = scores if calibrator is None else calibrator(scores, margins)
        if np.isnan(found).any():
            raise WorkError(
                "the model gives scores that are not numbers; its weights are too large: train it again"
            )
        return found

    def find_acceptance(self, search: str) -> Acceptance | None:
        """Return what may be accepted by the scores of a search."""
        return self.acceptance if self.acceptance and self.acceptance.search == search else None

    def refuse_misfit(self, labels: int) -> None:
        """Refuse what was made for another number of labels."""
        if self.acceptance is not None and len(self.acceptance.thresholds) != labels:
            count = len(self.acceptance.thresholds)
            raise InputError(f"{count} thresholds of acceptance cannot decide on {labels} labels")
        for calibrator in self.calibrators.values():
            calibrator.refuse_misfit(labels)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        plain: dict[str, Any] = {name: one.to_dict() for name, one in self.calibrators.items()}
        accepted = {"acceptance": self.acceptance.to_dict()} if self.acceptance else {}
        return {"calibrators": plain} | accepted

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any] | None) -> Confidence:
        """Read back what `to_dict` returned; folders of earlier formats have nothing."""
        if plain is None:
            return UNCALIBRATED
        accepted = plain.get("acceptance")
        calibrators = {name: read_calibrator(one) for name, one in plain["calibrators"].items()}
        return cls(calibrators, None if accepted is None else Acceptance(**accepted))


def describe_accepted(record: Mapping[str, Any]) -> str:
    """Say how many of the suggestions may be accepted unseen, by what was recorded when that was found."""
    share = 100 * record["accepted"] / max(record["suggested"], 1)
    level = f"{100 * record['precision']:g} % precision"
    if not record["accepted"]:
        return f"no label can be accepted unseen at {level}: the evidence does not suffice"
    return f"of 100 suggestions, {share:.0f} can be accepted unseen at {level}"


UNCALIBRATED = Confidence()
NOT_CALIBRATED = "scores are not calibrated"
"""What is said of a model without calibrators for its search."""

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
