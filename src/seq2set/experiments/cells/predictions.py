"""The predictions of a model for each document of a split, kept so that any measure can be taken later.

Shapes: N documents, L labels. Sets of labels lie end to end in one array; `ends` says where each ends.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.core.files import write_aside
from seq2set.core.progress import Progress
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.evaluation.results import Evaluation
from seq2set.labels.indicator import build_flat_indicator
from seq2set.labels.metrics import Counts
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples, Tagger

Ints = npt.NDArray[np.int64]


class Sets(NamedTuple):
    """A set of labels for each document, in the order in which they were given."""

    labels: Ints
    ends: Ints  # (N + 1,)

    @classmethod
    def of(cls, sets: Sequence[npt.ArrayLike]) -> Sets:
        """Join sets end to end."""
        rows = [np.asarray(one, np.int64) for one in sets]
        ends = np.cumsum([0, *map(len, rows)])
        return cls(np.concatenate([np.empty(0, np.int64), *rows]), ends)

    def row(self, document: int) -> Ints:
        """Return the labels of one document."""
        return self.labels[self.ends[document] : self.ends[document + 1]]

    def matrix(self, labels: int) -> csr_matrix:
        """Return the sets as rows of zeros and ones, (N, L)."""
        return build_flat_indicator(self.labels, self.ends, labels, np.uint8)


class DocumentCounts(NamedTuple):
    """The number of true positives, of predicted and of true labels of each document; each (N,)."""

    true_positives: Ints
    predicted: Ints
    actual: Ints


@dataclass(frozen=True, eq=False)
class Answers:
    """The predicted and the true labels of each document."""

    names: tuple[str, ...]
    """The labels: those of the training in descending frequency, then those that it never saw"""
    frequencies: tuple[int, ...]
    """How many training documents have each label"""
    ids: tuple[str, ...]
    chosen: Sets
    actual: Sets
    groups: tuple[str, ...] | None = None
    """The group of each document, where the corpus has groups; documents of one are not independent"""

    def counts(self, labels: Collection[str] | None = None) -> DocumentCounts:
        """Count for each document; where labels are named, as if there were no others."""
        given, right = self._build_matrices(labels)
        found = (given.multiply(right), given, right)
        return DocumentCounts(*(np.asarray(one.sum(axis=1), np.int64).ravel() for one in found))

    def metrics(self, labels: Collection[str] | None = None) -> dict[str, float]:
        """Measure; where labels are named, as if there were no others."""
        return Counts.of(*self._build_matrices(labels)).metrics()

    def _build_matrices(self, labels: Collection[str] | None) -> list[csr_matrix]:
        wanted = self.names if labels is None else set(labels)
        kept = [place for place, name in enumerate(self.names) if name in wanted]
        return [one.matrix(len(self.names))[:, kept] for one in (self.chosen, self.actual)]

    def save(self, path: Path) -> None:
        """Write all as one compressed file of arrays, with the counts for readers that want no more."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "names": np.array(self.names, np.str_),
            "frequencies": np.array(self.frequencies, np.int64),
            "ids": np.array(self.ids, np.str_),
            "chosen": self.chosen.labels,
            "chosen_ends": self.chosen.ends,
            "actual": self.actual.labels,
            "actual_ends": self.actual.ends,
        }
        if self.groups is not None:
            arrays["groups"] = np.array(self.groups, np.str_)
        counts = {f"count_{name}": value for name, value in self.counts()._asdict().items()}
        with write_aside(path) as aside, aside.open("wb") as stream:
            np.savez_compressed(stream, **arrays, **counts)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> Answers:
        """Read back what `save` wrote; arrays only, nothing that could run."""
        with np.load(path, allow_pickle=False) as saved:
            return cls(
                names=tuple(saved["names"].tolist()),
                frequencies=tuple(saved["frequencies"].tolist()),
                ids=tuple(saved["ids"].tolist()),
                chosen=Sets(saved["chosen"], saved["chosen_ends"]),
                actual=Sets(saved["actual"], saved["actual_ends"]),
                groups=tuple(saved["groups"].tolist()) if "groups" in saved.files else None,
            )


class MeasuredCell(NamedTuple):
    """An evaluation, and the predictions that it was made of."""

    result: Evaluation
    answers: Answers


def measure_predictions(tagger: Tagger, part: Examples, request: Request, progress: Progress) -> MeasuredCell:
    """Evaluate a model, and return its predictions too."""
    result = evaluate_tagger(tagger, part, request, progress)
    names = tuple(label.label for label in result.per_label)
    known = tagger.labels.frequencies
    answers = Answers(
        names=names,
        frequencies=(*known, *(0 for _ in names[len(known) :])),
        ids=tuple(part.ids),
        chosen=Sets.of(result.chosen),
        actual=Sets.of(result.actual),
        groups=None if part.groups is None else tuple(part.groups),
    )
    return MeasuredCell(result, answers)
