"""Rules by which scores become a set of labels: thresholds, the k best, or the best in expectation.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import InputError, UnknownNameError
from seq2set.labels.expected_f1 import choose_best_sets

RuleKind = Literal["global", "top-k", "expected-f1", "per-label"]
RULES: tuple[RuleKind, ...] = get_args(RuleKind)
"""The kinds of rules, the simplest first."""


@dataclass(frozen=True)
class Rule:
    """A rule; make one with a function below: `make_global_rule` and the like."""

    kind: RuleKind
    thresholds: tuple[float, ...] = ()
    """One threshold for all labels, or one for each; none where the best few are given whatever they score"""
    k: int = 0
    """How many labels per text, the highest-scoring ones, where that is the rule"""

    def decide(self, scores: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
        """Say which labels of scores (N, L) are given; one that scores -inf never is."""
        if self.kind == "expected-f1":
            return choose_best_sets(scores)
        if self.kind == "top-k":
            best = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
            chosen = np.zeros(scores.shape, bool)
            np.put_along_axis(chosen, best, True, axis=1)
            return np.asarray(chosen & (scores > -np.inf) & self._reach(scores))
        return self._reach(scores)

    def _reach(self, scores: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
        # In the scores' own precision: a threshold that was one of the scores must stay equal to it.
        return np.asarray(scores >= np.array(self.thresholds or -np.inf, np.float32))

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain JSON."""
        if self.kind == "top-k":
            limit = {"thresholds": list(self.thresholds)} if self.thresholds else {}
            return {"kind": self.kind, "k": self.k} | limit
        if self.kind == "expected-f1":
            return {"kind": self.kind}
        return {"kind": self.kind, "thresholds": list(self.thresholds)}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Rule:
        """Read a rule back."""
        if not found:  # a model folder from elsewhere may have none
            raise InputError("the decision rule is missing")
        if type(found.get("k", 1)) is not int:
            raise InputError(f"top_k is {found['k']}; it must be a whole number")
        if found["kind"] == "global":
            return make_global_rule(*found["thresholds"])
        if found["kind"] == "per-label":
            return make_label_rule(found["thresholds"])
        if found["kind"] == "top-k":
            return make_top_rule(found["k"], *found.get("thresholds", ()))
        if found["kind"] == "expected-f1":
            return make_expected_rule()
        raise UnknownNameError("rule", found["kind"], RULES)

    def describe(self) -> str:
        """Say which labels are given."""
        if self.kind == "top-k":
            best = "the best label of each text" if self.k == 1 else f"the {self.k} best labels of each text"
            return f"{best} with a score of at least {self.thresholds[0]:.4g}" if self.thresholds else best
        if self.kind == "expected-f1":
            return "the set of labels of the highest expected F1"
        lowest, highest = min(self.thresholds), max(self.thresholds)
        if self.kind == "global":
            return f"every label that scores at least {lowest:.4g}" if lowest <= 1 else "no label at all"
        return f"every label that reaches its own threshold ({lowest:.4g} to {highest:.4g})"

    def refuse_misfit(self, labels: int) -> None:
        """Refuse a rule that was made for another number of labels."""
        if self.kind == "per-label" and len(self.thresholds) != labels:
            raise InputError(f"a rule of {len(self.thresholds)} thresholds cannot decide on {labels} labels")
        if self.k > labels:
            raise InputError(f"top_k is {self.k}, but there are {labels} labels; it must be <= {labels}")


def make_global_rule(threshold: float) -> Rule:
    """Give every label whose score reaches the threshold."""
    return Rule("global", (_check_threshold(threshold),))


def make_label_rule(thresholds: npt.NDArray[np.floating[Any]] | list[float]) -> Rule:
    """Give each label from its own threshold on."""
    return Rule("per-label", tuple(_check_threshold(float(one)) for one in thresholds))


def make_top_rule(k: int, threshold: float | None = None) -> Rule:
    """Give the k best labels, whatever their scores, or those of them that reach a threshold."""
    if k < 1:
        raise InputError(f"top_k is {k}; it must be >= 1")
    return Rule("top-k", () if threshold is None else (_check_threshold(threshold),), k)


def make_expected_rule() -> Rule:
    """Give the set of the highest expected F1, for scores that are probabilities; see `expected_f1`."""
    return Rule("expected-f1")


def _check_threshold(threshold: float) -> float:
    # Just above 1 gives nothing at all, which can be the best there is.
    if not 0 <= threshold <= np.nextafter(np.float32(1), np.float32(2)):
        raise InputError(f"threshold is {threshold}; it must lie in [0, 1]")
    return float(threshold)
