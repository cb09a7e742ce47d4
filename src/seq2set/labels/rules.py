"""Rules by which scores become a set of labels: thresholds, the k best, or the best in expectation.

The last is the set of the highest expected F1, given each label's probability. Were the labels of a document
independent, with probabilities p_1 >= p_2 >= ..., the best set of k labels would be the first k. Their
expected F1 is a sum over how many of them, and of the others, are right:

    E_k = sum over i of  P(i of the first k are right) * 2 i * s_k(k + i)
    s_k(a) = the mean of 1 / (a + j), where j is how many of the labels after the k-th are right

With s_{k-1}(a) = p_k s_k(a + 1) + (1 - p_k) s_k(a), all E_k together take a time quadratic in the number
of labels (Ye, Chai, Lee and Chieu, 2012). Nothing is given where that is best: two empty sets
have an F1 of 1.

Shapes: N documents, L labels, M labels of each document that count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import InputError, UnknownNameError

Reals = npt.NDArray[np.float64]

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
        number = {"k": self.k} if self.kind == "top-k" else {}
        limits = {"thresholds": list(self.thresholds)} if self.thresholds else {}
        return {"kind": self.kind} | number | limits

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
    """Give the set of the highest expected F1, for scores that are probabilities."""
    return Rule("expected-f1")


def _check_threshold(threshold: float) -> float:
    # Just above 1 gives nothing at all, which can be the best there is.
    if not 0 <= threshold <= np.nextafter(np.float32(1), np.float32(2)):
        raise InputError(f"threshold is {threshold}; it must lie in [0, 1]")
    return float(threshold)


MOST = 100
"""How many labels of a document, the likeliest ones, count; all the others are taken for absent."""

AT_A_TIME = 1024
"""Documents that are computed together, to bound the memory."""


def choose_best_sets(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Say which labels of probabilities (N, L) are in the set of the highest expected F1.

    Of equally good sets the smallest is taken. A label that scores -inf is never given.
    """
    chosen = np.zeros(scores.shape, bool)
    for start in range(0, len(scores), AT_A_TIME):
        block = scores[start : start + AT_A_TIME]
        best_first = np.argsort(-block, axis=1, kind="stable")[:, :MOST]  # (N, M)
        ordered = np.take_along_axis(block, best_first, axis=1).astype(np.float64)
        sizes = compute_expected_f1(np.clip(ordered, 0, 1)).argmax(axis=1)
        given = (np.arange(best_first.shape[1]) < sizes[:, None]) & (ordered > -np.inf)
        np.put_along_axis(chosen[start : start + AT_A_TIME], best_first, given, axis=1)
    return chosen


def compute_expected_f1(probabilities: Reals) -> Reals:
    """Return the expected F1 of no label, the first, the first two, and so on: (N, M) -> (N, M + 1).

    The probabilities of each document are in descending order.
    """
    documents, labels = probabilities.shape
    present, absent = probabilities[:, :, None], 1 - probabilities[:, :, None]
    right = np.zeros((labels + 1, documents, labels + 1))  # [k, :, i]: P(i of the first k are right)
    right[0, :, 0] = 1
    for k in range(1, labels + 1):
        right[k] = absent[:, k - 1] * right[k - 1]
        right[k, :, 1:] += present[:, k - 1] * right[k - 1, :, :-1]
    expected = np.empty((documents, labels + 1))
    expected[:, 0] = right[labels, :, 0]  # right where the document has no label at all
    share = np.tile(1 / np.arange(1, 2 * labels + 1), (documents, 1))  # [:, a - 1]: s_k(a)
    for k in range(labels, 0, -1):
        hits = np.arange(1, k + 1)
        expected[:, k] = (2 * hits * right[k, :, 1 : k + 1] * share[:, k + hits - 1]).sum(axis=1)
        share = present[:, k - 1] * share[:, 1:] + absent[:, k - 1] * share[:, :-1]
    return expected
