"""Scores become probabilities: calibrators in use, which need numpy only. `fitting` makes them.

A logistic calibrator weighs a few features of a score; where a model has a linear prior, its margin can be
one of them. A set decoder's marginals saturate: many labels that score 0.99 are wrong, and the score alone
cannot say which. The prior can, where the decoder speaks for a label at all.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import InputError, UnknownNameError

Scores = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]

Labels = npt.NDArray[np.intp]
ALL = slice(None)

FLOOR = 1e-6
"""A score of 0 or 1 counts as this far away from it: some sampled sets cannot say never or always."""
_SLOPE = 1e-3
"""The share of the score itself in an isotonic probability, so that no two scores become one."""

FEATURES: dict[str, Callable[[Reals, Reals], Reals]] = {
    "logit": lambda score, _: np.log(score) - np.log1p(-score),
    "log": lambda score, _: np.log(score),
    "log_rest": lambda score, _: -np.log1p(-score),
    "score": lambda score, _: score,
    "margin_square": lambda score, margin: margin * score**2,
}
"""What a logistic calibrator can weigh, computed from scores in (0, 1) and margins of the linear prior."""


class Calibrator(Protocol):
    """Turns scores into probabilities."""

    @property
    def keeps_order(self) -> bool:
        """Whether the order of any two scores stays, so that a threshold can be carried over."""

    def __call__(self, scores: Scores, margins: Scores | None = None, labels: Labels | slice = ALL) -> Scores:
        """Return the probabilities of scores (..., L), of a model with a prior beside its margins.

        Scores that are not of all labels in their order say of which `labels` they are.
        """

    def refuse_misfit(self, labels: int) -> None:
        """Refuse to be used for another number of labels than it was made for."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""


@dataclass(frozen=True)
class LogisticCalibrator:
    """The weighted sum of features through a sigmoid, with an offset for all labels or one for each."""

    weights: Mapping[str, float]
    offset: float = 0.0
    label_offsets: Sequence[float] = ()

    @property
    def keeps_order(self) -> bool:
        """Whether there is nothing but the score, which counts for the label."""
        alone = not self.label_offsets and "margin_square" not in self.weights
        return alone and min(self.weights.values()) > 0

    def __call__(self, scores: Scores, margins: Scores | None = None, labels: Labels | slice = ALL) -> Scores:
        """Return the probabilities."""
        known, other = clip_scores(scores), np.zeros(1) if margins is None else margins.astype(np.float64)
        logits = np.full(scores.shape, self.offset)
        for name, weight in self.weights.items():
            logits += weight * FEATURES[name](known, other)
        if self.label_offsets:
            logits += np.asarray(self.label_offsets)[labels]
        return _clip(np.exp(-np.logaddexp(0, -logits)))

    def refuse_misfit(self, labels: int) -> None:
        """Refuse offsets of another number of labels."""
        if self.label_offsets and len(self.label_offsets) != labels:
            raise InputError(f"{len(self.label_offsets)} offsets cannot calibrate {labels} labels")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        plain = {"kind": "logistic", "weights": dict(self.weights), "offset": self.offset}
        return plain | ({"label_offsets": list(self.label_offsets)} if self.label_offsets else {})


IDENTITY = LogisticCalibrator({"logit": 1.0})
"""Leaves scores as they are, but for 0 and 1."""


@dataclass(frozen=True)
class Steps:
    """A rising line through points, flat before the first and after the last."""

    scores: Sequence[float]
    probabilities: Sequence[float]

    def __call__(self, scores: Reals) -> Reals:
        """Return the line's height at scores."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities))


@dataclass(frozen=True)
class IsotonicCalibrator:
    """A rising line for all labels; labels with enough documents mix it with one of their own.

    The lines are over scores, or over what another calibrator makes of them.
    """

    shared: Steps
    own: Mapping[int, Steps] = field(default_factory=dict)
    shares: Mapping[int, float] = field(default_factory=dict)
    """How much each own line weighs against the shared one"""
    first: LogisticCalibrator | None = None

    @property
    def keeps_order(self) -> bool:
        """Whether no label has a line of its own, and nothing but the score counts."""
        return not self.own and (self.first is None or self.first.keeps_order)

    def __call__(self, scores: Scores, margins: Scores | None = None, labels: Labels | slice = ALL) -> Scores:
        """Return the probabilities."""
        known = clip_scores(scores if self.first is None else self.first(scores, margins, labels))
        found = self.shared(known)
        of = np.arange(scores.shape[-1])[labels] if isinstance(labels, slice) else labels
        for label, line in self.own.items():
            here, share = (..., of == label), self.shares[label]
            found[here] = share * line(known[here]) + (1 - share) * found[here]
        return _clip((1 - _SLOPE) * found + _SLOPE * known)

    def refuse_misfit(self, labels: int) -> None:
        """Refuse lines for labels that do not exist."""
        if self.own and max(self.own) >= labels:
            raise InputError(f"a line of label {max(self.own)} cannot calibrate {labels} labels")
        if self.first is not None:
            self.first.refuse_misfit(labels)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        own = [
            {"label": label, "share": self.shares[label], **_list_points(line)}
            for label, line in self.own.items()
        ]
        first = {} if self.first is None else {"first": self.first.to_dict()}
        return {"kind": "isotonic", **_list_points(self.shared), "own": own} | first


PlainCalibrator = LogisticCalibrator | IsotonicCalibrator


@dataclass(frozen=True)
class BoundedCalibrator:
    """A calibrator that leaves decisions to the scores: none of its probabilities is on the other side.

    Where it looks at more than the score, a label below the threshold can be likelier than one above it. It
    is taken for as likely as the threshold then, so that every set of labels stays as it was.
    """

    inner: PlainCalibrator
    scores: Sequence[float]
    """The threshold of all labels, or one for each"""
    probabilities: Sequence[float]
    """What the probabilities of labels that reach it do not fall below, and those of others do not reach"""

    keeps_order = False

    def __call__(self, scores: Scores, margins: Scores | None = None, labels: Labels | slice = ALL) -> Scores:
        """Return the probabilities."""
        return self.bound(scores, self.inner(scores, margins, labels), labels)

    def bound(self, scores: Scores, probabilities: Scores, labels: Labels | slice = ALL) -> Scores:
        """Put probabilities of scores onto their side."""
        limits, least = (np.asarray(one, np.float32) for one in (self.scores, self.probabilities))
        if len(limits) > 1:
            limits, least = limits[labels], least[labels]
        below = np.minimum(probabilities, np.nextafter(least, np.float32(0)))
        return np.where(scores >= limits, np.maximum(probabilities, least), below)

    def refuse_misfit(self, labels: int) -> None:
        """Refuse thresholds of another number of labels."""
        if len(self.scores) not in (1, labels):
            raise InputError(f"{len(self.scores)} thresholds cannot bound the scores of {labels} labels")
        self.inner.refuse_misfit(labels)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        bounds = {"scores": list(self.scores), "probabilities": list(self.probabilities)}
        return {"kind": "bounded", **bounds, "inner": self.inner.to_dict()}


def _list_points(line: Steps) -> dict[str, list[float]]:
    return {"scores": list(line.scores), "probabilities": list(line.probabilities)}


def clip_scores(scores: Scores) -> Reals:
    """Return scores as double precision numbers that are neither 0 nor 1; one of -inf is nearly 0."""
    return np.clip(scores.astype(np.float64), FLOOR, 1 - FLOOR)


def _clip(found: Reals) -> Scores:
    # In single precision the nearest number to 1 - FLOOR is still below 1.
    return np.clip(found, FLOOR, 1 - FLOOR).astype(np.float32)


def read_calibrator(plain: Mapping[str, Any]) -> PlainCalibrator | BoundedCalibrator:
    """Read back what `to_dict` returned."""
    if plain["kind"] == "logistic":
        return _read_logistic(plain)
    if plain["kind"] == "isotonic":
        lines = {one["label"]: Steps(one["scores"], one["probabilities"]) for one in plain["own"]}
        shares = {one["label"]: one["share"] for one in plain["own"]}
        first = _read_logistic(plain["first"]) if plain.get("first") else None
        return IsotonicCalibrator(Steps(plain["scores"], plain["probabilities"]), lines, shares, first)
    if plain["kind"] == "bounded":
        inner = read_calibrator(plain["inner"])
        assert not isinstance(inner, BoundedCalibrator)  # `saved_settings` sees to it
        return BoundedCalibrator(inner, tuple(plain["scores"]), tuple(plain["probabilities"]))
    raise UnknownNameError("calibrator", plain["kind"], ("logistic", "isotonic", "bounded"))


def _read_logistic(plain: Mapping[str, Any]) -> LogisticCalibrator:
    unknown = set(plain["weights"]) - FEATURES.keys()
    if unknown:
        raise UnknownNameError("feature", min(unknown), FEATURES)
    return LogisticCalibrator(plain["weights"], plain["offset"], tuple(plain.get("label_offsets", ())))
