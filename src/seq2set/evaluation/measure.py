"""Measure a model on a split: counts that add up batch by batch, then metrics, curve and speed.

Shapes: N documents, L labels.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from seq2set.core.flat_arrays import StoredLists
from seq2set.core.progress import Progress, Silent
from seq2set.core.sparse import SparseRows
from seq2set.core.text_utils import count_things
from seq2set.corpora.documents import Document
from seq2set.corpora.seen_texts import Documents
from seq2set.evaluation.results import AcceptedCounts, CurvePoint, Evaluation
from seq2set.labels.confidence.acceptance import Acceptance
from seq2set.labels.labels import Labels
from seq2set.labels.metrics import Counts, RankingCounts
from seq2set.labels.reliability import ReliabilityCounts
from seq2set.labels.rules import Rule
from seq2set.models.predictions import Inference, Request
from seq2set.models.tagger import Tagger

BATCH = 512
CURVE = np.linspace(0.01, 0.99, 99)
Keep = Callable[[Sequence[Document], Inference], None]
"""Is given each batch of documents with what the model says of them."""


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
        documents_have = count_things(counts.no_known_words, "document has", "documents have")
        withheld = "" if counts.request.count_wanted() else " and got no label"
        progress.note(f"{documents_have} no known word{withheld}")
    return counts.result()


class _SplitCounts:
    """The counts of a split, which add up batch by batch."""

    def __init__(self, tagger: Tagger, labels: Labels, request: Request):
        self.tagger, self.labels, self.request = tagger, labels, request
        self.totals: tuple[Counts, RankingCounts, ReliabilityCounts] | None = None
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
        counts, ranking = Counts.of(given, actual), RankingCounts.of(scores, actual)
        reliability = ReliabilityCounts.of(scores, actual.toarray())
        if self.totals is not None:
            before = self.totals
            counts, ranking, reliability = before[0] + counts, before[1] + ranking, before[2] + reliability
        self.totals = counts, ranking, reliability
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
        accepted = None
        if self.acceptance is not None:
            suggested = sum(len(one) for one in self.chosen)
            accepted = AcceptedCounts(self.acceptance.precision, suggested, *self.accepted.tolist())
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
            accepted=accepted,
        )


def _compute_points(curve: npt.NDArray[np.int64], actual: int) -> list[CurvePoint]:
    right, predicted = curve[:, 0], curve[:, 1]
    precision = right / np.maximum(predicted, 1)
    recall = right / max(actual, 1)
    f1 = 2 * right / np.maximum(predicted + actual, 1)
    return [CurvePoint(*row) for row in np.stack([CURVE, precision, recall, f1], axis=1).tolist()]
