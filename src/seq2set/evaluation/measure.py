"""Measure a model on a split: metrics, ranking, each label's figures, the threshold curve and the speed.

Shapes: N documents, L labels.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.flat_arrays import StoredLists
from seq2set.core.progress import Progress, Silent
from seq2set.core.sparse import SparseRows, StoredRows
from seq2set.core.text_utils import count_things
from seq2set.corpora.documents import Document
from seq2set.corpora.seen_texts import Documents, Overlap
from seq2set.evaluation.faithfulness import Faithfulness
from seq2set.labels.confidence.acceptance import Acceptance, describe_accepted
from seq2set.labels.intervals import Interval, compute_intervals
from seq2set.labels.labels import Labels
from seq2set.labels.metrics import Counts, LabelMetrics, RankingCounts
from seq2set.labels.reliability import ReliabilityCounts, compute_wilson_interval
from seq2set.labels.rules import Rule
from seq2set.models.predictions import Inference, Request
from seq2set.models.tagger import Tagger

BATCH = 512
IntArray = npt.NDArray[np.intp]
CURVE = np.linspace(0.01, 0.99, 99)
FEW = 100
"""Fewer documents than these leave figures wide open."""
Keep = Callable[[Sequence[Document], Inference], None]
"""Is given each batch of documents with what the model says of them."""


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

    def intervals(self, groups: Iterable[str] | None = None) -> dict[str, Interval]:
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
    groups: int = 0
    """Over how many groups of documents the intervals are; 0: over the documents"""
    evidence: Faithfulness | None = None
    """How faithful the reasons are, where that was measured"""

    def remarks(self) -> list[str]:
        """Return the sentences that a reader of the figures must know."""
        hints = " (--include-seen keeps them)", " (--leave-out-seen leaves them out)"
        seen = self.overlap.sentences(*hints) if self.overlap else []
        return [
            *seen,
            *_describe_unseen_labels(self.result),
            *self._describe_few(),
            *([self.result.accepted.describe()] if self.result.accepted else []),
        ]

    def _describe_few(self) -> list[str]:
        units = self.groups or self.result.documents
        some = count_things(units, "group" if self.groups else "document")
        return [] if units >= FEW else [f"{some} to measure on are few: {_FEW}"]

    def summary(self) -> dict[str, Any]:
        """Return the object that `evaluate --json` prints."""
        result = self.result
        return {
            "model": self.model,
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
            "intervals": {name: list(interval) for name, interval in self.intervals.items()},
            "threshold": result.threshold,
            "rule": result.rule and result.rule.to_dict(),
            "unseen_labels": result.unseen_labels,
            "no_known_words": result.no_known_words,
            "documents_per_second": round(result.documents_per_second, 1),
            **({"evidence": self.evidence.to_dict()} if self.evidence else {}),
        }


_FEW = "a difference that is smaller than the intervals says nothing"


def have_same_documents(reports: Sequence[Report]) -> bool:
    """Say whether all figures stand on the very same documents, so that they can be compared."""
    return len({(report.data, report.split, report.fingerprint) for report in reports}) == 1


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


def evaluate_tagger(
    tagger: Tagger,
    split: Documents,
    request: Request | None = None,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Evaluation:
    """Predict a whole split in batches and add up the counts; `keep` is given each batch.

    Labels that the model never saw in training count like any other: nobody can give them, so they are
    misses, and they have rows of their own in the per-label table.
    """
    progress = progress or Silent()
    counts = _SplitCounts(tagger, tagger.labels.with_unseen(split.iter_labels()), request or Request())
    with progress.stage("predict", len(split)) as advance:
        for documents in split.iter_batches(BATCH):
            answer = counts.add(documents)
            if keep is not None:
                keep(documents, answer)
            advance(len(documents))
    if counts.no_known_words:
        progress.note(_describe_unknown(counts.no_known_words, request or Request()))
    return counts.result()


def _describe_unknown(count: int, request: Request) -> str:
    documents = count_things(count, "document has", "documents have")
    withheld = "" if request.count_wanted() else " and got no label"
    return f"{documents} no known word{withheld}"


class _Totals(NamedTuple):
    """What adds up batch by batch."""

    counts: Counts
    ranking: RankingCounts
    reliability: ReliabilityCounts

    def add(self, other: _Totals) -> _Totals:
        return _Totals(*(one + two for one, two in zip(self, other, strict=True)))  # type: ignore[operator]


class _SplitCounts:
    """The counts of a split, which add up batch by batch."""

    def __init__(self, tagger: Tagger, labels: Labels, request: Request):
        self.tagger, self.labels, self.request = tagger, labels, request
        self.totals: _Totals | None = None
        self.curve = np.zeros((len(CURVE), 2), np.int64)  # true positives, predicted
        self.sizes: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self.chosen, self.actual = StoredLists(), StoredLists()
        self.seconds = 0.0
        self.no_known_words = 0
        self.rule: Rule | None = None
        self.calibrated = False
        self.acceptance: Acceptance | None = None
        self.accepted = np.zeros(2, np.int64)  # accepted, right

    def add(self, documents: Sequence[Document]) -> Inference:
        texts = [document.text for document in documents]
        began = time.perf_counter()
        answer = self.tagger.infer(texts, self.request)
        self.seconds += time.perf_counter() - began
        actual = self.labels.rows([document.labels for document in documents])
        unseen = len(self.labels.names) - answer.scores.shape[1]
        scores = np.pad(answer.scores, ((0, 0), (0, unseen)))
        given = SparseRows.from_sets(answer.chosen, len(self.labels))
        found = _Totals(
            Counts.of(given, actual),
            RankingCounts.of(scores, actual),
            ReliabilityCounts.of(scores, actual.toarray()),
        )
        self.totals = found if self.totals is None else self.totals.add(found)
        self.actual.extend(np.split(actual.indices, actual.indptr[1:-1]))
        known = np.array([note is None for note in answer.notes()], bool)
        self.no_known_words += int((~known).sum())
        self._add_curve(np.where(known[:, None], scores, 0), actual)  # what a threshold would give
        self.chosen.extend(answer.chosen)
        self.sizes[0].update(len(one) for one in answer.chosen)
        self.sizes[1].update(np.diff(actual.indptr).tolist())
        self.rule, self.calibrated, self.acceptance = answer.rule, answer.calibrated, answer.acceptance
        if answer.acceptance is not None:
            self._count_accepted(answer, actual.toarray())
        return answer

    def _count_accepted(self, answer: Inference, actual: npt.NDArray[np.bool_]) -> None:
        given = answer.suggestions(self.tagger.labels.names)
        for suggestions, chosen, right in zip(given, answer.chosen, actual, strict=True):
            accepted = np.array([one.mark == "accept" for one in suggestions], bool)
            self.accepted += accepted.sum(), right[chosen[accepted]].sum()

    def _add_curve(self, scores: npt.NDArray[np.float32], actual: SparseRows) -> None:
        right = np.sort(scores[actual.toarray()])
        everything = np.sort(scores, axis=None)
        levels = CURVE.astype(np.float32)
        self.curve[:, 0] += len(right) - np.searchsorted(right, levels)
        self.curve[:, 1] += len(everything) - np.searchsorted(everything, levels)

    def result(self) -> Evaluation:
        names = self.labels.names
        assert self.totals is not None  # there is at least one document
        counts, ranking, reliability = self.totals
        return Evaluation(
            documents=counts.documents,
            labels=len(names),
            rule=self.rule,
            metrics=counts.metrics(),
            ranking=ranking.metrics(),
            reliability=reliability,
            per_label=counts.per_label(names),
            curve=_compute_points(self.curve, counts.actual_total),
            predicted_cardinality=dict(sorted(self.sizes[0].items())),
            actual_cardinality=dict(sorted(self.sizes[1].items())),
            unseen_labels=len(names) - len(self.tagger.labels.names),
            seconds=self.seconds,
            chosen=self.chosen,
            no_known_words=self.no_known_words,
            actual=self.actual,
            calibrated=self.calibrated,
            accepted=self._find_accepted(),
        )

    def _find_accepted(self) -> AcceptedCounts | None:
        if self.acceptance is None:
            return None
        suggested = sum(len(one) for one in self.chosen)
        return AcceptedCounts(self.acceptance.precision, suggested, *self.accepted.tolist())


def _compute_points(curve: npt.NDArray[np.int64], actual: int) -> list[CurvePoint]:
    right, predicted = curve[:, 0], curve[:, 1]
    precision = right / np.maximum(predicted, 1)
    recall = right / max(actual, 1)
    f1 = 2 * right / np.maximum(predicted + actual, 1)
    rows = zip(CURVE, precision, recall, f1, strict=True)
    return [CurvePoint(*(float(value) for value in row)) for row in rows]
