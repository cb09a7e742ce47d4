"""What a model reached on a split, and the sentences that a reader of the figures must know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config.catalog import PARTS
from seq2set.core.sparse import StoredRows
from seq2set.core.text_utils import count_things
from seq2set.corpora.seen_texts import Overlap
from seq2set.evaluation.faithfulness import Faithfulness
from seq2set.labels.confidence.acceptance import describe_accepted
from seq2set.labels.intervals import Interval, compute_intervals
from seq2set.labels.metrics import LabelMetrics
from seq2set.labels.reliability import ReliabilityCounts, compute_wilson_interval
from seq2set.labels.rules import Rule

IntArray = npt.NDArray[np.intp]
FEW = 100
"""Fewer documents than these leave figures wide open."""


@dataclass(frozen=True)
class CurvePoint:
    """Micro precision, recall and F1 at one threshold."""

    threshold: float
    precision: float
    recall: float
    f1: float


class AcceptedCounts(NamedTuple):
    """The labels that may be accepted without a look, among those that were given."""

    precision: float
    """That they are to have"""
    suggested: int
    accepted: int
    right: int

    def describe(self) -> str:
        """Say how many there are and how many of them are right."""
        said = describe_accepted(self._asdict())
        if not self.accepted:
            return said
        low, high = compute_wilson_interval(self.right, self.accepted)
        share, low, high = (100 * one for one in (self.right / self.accepted, low, high))
        return (
            f"{said}; of the {self.accepted:,} such labels here, {share:.1f} % are right "
            f"(95 % interval {low:.1f} to {high:.1f} %)"
        )


@dataclass(frozen=True)
class Evaluation:
    """What a model reached on a split."""

    documents: int
    labels: int
    rule: Rule | None
    """The rule that gave the labels; none where a search found the sets by itself."""
    metrics: dict[str, float]
    ranking: dict[str, float]
    reliability: ReliabilityCounts
    per_label: list[LabelMetrics]
    curve: list[CurvePoint]
    predicted_cardinality: dict[int, int]
    actual_cardinality: dict[int, int]
    unseen_labels: int
    """How many of the split's labels the model never saw in training; they come last in `per_label`."""
    seconds: float
    chosen: Sequence[IntArray] = ()
    """The labels that each document was given, as columns of `per_label`, in the order of the model."""
    no_known_words: int = 0
    """How many of the documents have no word that the model knows."""
    actual: Sequence[IntArray] = ()
    """The labels that each document has, as columns of `per_label`."""
    calibrated: bool = False
    """Whether scores are probabilities"""
    accepted: AcceptedCounts | None = None
    """How the labels fared that may be accepted unseen, where the model says so"""

    def intervals(self, groups: Iterable[Any] | None = None) -> dict[str, Interval]:
        """Return the interval of each metric over documents, or over groups of them."""
        predicted, actual = (StoredRows(one, self.labels) for one in (self.chosen, self.actual))
        return compute_intervals(predicted, actual, groups)

    @property
    def threshold(self) -> float | None:
        """The one score from which on every label was given, where there is one."""
        return self.rule.thresholds[0] if self.rule and self.rule.kind == "global" else None

    @property
    def documents_per_second(self) -> float:
        """The speed of prediction."""
        return self.documents / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Report:
    """An evaluation with the names of what was measured."""

    model: str
    data: str
    split: str
    result: Evaluation
    metadata: dict[str, Any]
    """What the model folder says of the model's training."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """The run's history, where the model still lies in its run."""
    run: str = ""
    """The folder of the run or of the model"""
    overlap: Overlap | None = None
    """How many of the documents the model has seen before"""
    fingerprint: str = ""
    """The same where the very same documents were measured on"""
    intervals: dict[str, Interval] = field(default_factory=dict)
    """The 95 % interval of each metric"""
    unit: str = "document"
    """What the intervals are over: document, group, or text where many have the same"""
    units: int = 0
    """How many of them there are"""
    evidence: Faithfulness | None = None
    """How faithful the reasons are, where that was measured"""
    parts: dict[str, str] = field(default_factory=dict)
    """The names of its encoder and reward, and of the search that was measured, of those that it has"""

    def remarks(self) -> list[str]:
        """Return the sentences that a reader of the figures must know."""
        hints = " (--include-seen keeps them)", " (--leave-out-seen leaves them out)"
        found = self.overlap.sentences(*hints) if self.overlap else []
        found = [*found, *_describe_unseen_labels(self.result)]
        found += describe_empty_labels({row.label: row.support for row in self.result.per_label})
        if self.unit == "text":
            some = f"{self.result.documents - self.units:,} of these {self.result.documents:,} documents"
            found.append(f"{some} are copies of others: equal texts are drawn together")
        if self.units == 1:
            found.append(f"one {self.unit} tells nothing of others: figures have no interval")
        elif self.units < FEW:
            some = count_things(self.units, self.unit)
            close = "a difference that is smaller than the intervals says nothing"
            found.append(f"{some} to measure on are few: {close}")
        return found + ([self.result.accepted.describe()] if self.result.accepted else [])

    def summary(self) -> dict[str, Any]:
        """Return the object that `evaluate --json` prints."""
        result = self.result
        return {
            "model": self.model,
            **(dict.fromkeys(PARTS) | self.parts),
            "run": self.run,
            "data": self.data,
            "split": self.split,
            "documents": result.documents,
            "fingerprint": self.fingerprint,
            **(self.overlap.to_dict() if self.overlap else {}),
            "labels": result.labels,
            **result.metrics,
            **result.ranking,
            **result.reliability.metrics(),
            "calibrated": result.calibrated,
            "accepted": result.accepted and result.accepted._asdict(),
            "intervals": {name: one.list_bounds() for name, one in self.intervals.items()},
            "threshold": result.threshold,
            "rule": result.rule and result.rule.to_dict(),
            "unseen_labels": result.unseen_labels,
            "labels_without_documents": sum(not row.support for row in result.per_label),
            "no_known_words": result.no_known_words,
            "documents_per_second": round(result.documents_per_second, 1),
            **({"evidence": self.evidence.to_dict()} if self.evidence else {}),
        }


def have_same_documents(reports: Sequence[Report]) -> bool:
    """Say whether all figures stand on the very same documents, so that they can be compared."""
    return len({(report.data, report.split, report.fingerprint) for report in reports}) == 1


def describe_empty_labels(documents: Mapping[str, int]) -> list[str]:
    """Say how many labels macro-F1 counts as 0 because no document has them, given how many have each."""
    empty = [label for label, count in documents.items() if not count]
    has, counts = ("has", "counts") if len(empty) == 1 else ("have", "count")
    some = f"{len(empty):,} of {len(documents):,} labels {has} no document to measure on and {counts} 0"
    return [f"{some} in macro-F1, such as '{empty[0]}'"] if empty else []


def _describe_unseen_labels(result: Evaluation) -> list[str]:
    """Say how many of the labels no prediction can be right about."""
    there = [label.label for label in result.per_label if label.support]
    if not result.unseen_labels:
        return []
    if len(there) > result.unseen_labels:
        return [
            f"{result.unseen_labels:,} of the {len(there):,} labels of these documents are unknown to the "
            "model, which never saw them in training: they always count as missed"
        ]
    known = [label.label for label in result.per_label[: -result.unseen_labels]]
    return [
        f"the model knows none of the {len(there):,} labels of these documents, so that nothing it gives can "
        f"be right: they have {_list_some(there)}; it knows {_list_some(known)}"
    ]


def _list_some(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:3])
    return shown + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
