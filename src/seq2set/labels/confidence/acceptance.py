"""Which labels may be accepted without a look, and all that a model knows of how sure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

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
                "the model gives scores that are no numbers; its weights are too large: train it anew"
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
