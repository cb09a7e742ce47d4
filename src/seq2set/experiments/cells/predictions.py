"""What a model answered for each document of a split, kept so that any measure can be taken later.

Shapes: N documents, L labels. Sets of labels lie end to end in one array; `ends` says where each begins.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.core.files import write_aside
from seq2set.core.progress import Progress
from seq2set.evaluation.measure import Evaluation, evaluate_tagger
from seq2set.labels.indicator import build_flat_indicator
from seq2set.labels.metrics import Counts
from seq2set.models.predictions import Inference, Request
from seq2set.models.tagger import Examples, Tagger

Ints = npt.NDArray[np.int64]


class Sets(NamedTuple):
    """A set of labels for each document, in the order in which they were given."""

    labels: Ints
    ends: Ints  # (N + 1,)

    @classmethod
    def of(cls, sets: Sequence[npt.ArrayLike]) -> Sets:
        """Lay sets end to end."""
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
    """How many labels of each document were given and right, given, and right; each (N,)."""

    true_positives: Ints
    predicted: Ints
    actual: Ints

    @classmethod
    def of(cls, given: csr_matrix, right: csr_matrix) -> DocumentCounts:
        """Count on two matrices of zeros and ones, (N, L)."""
        both = given.multiply(right)
        return cls(*(np.asarray(one.sum(axis=1), np.int64).ravel() for one in (both, given, right)))


@dataclass(frozen=True, eq=False)
class Answers:
    """The labels that were given to each document, beside those that are right."""

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
        return DocumentCounts.of(*self._matrices(labels))

    def metrics(self, labels: Collection[str] | None = None) -> dict[str, float]:
        """Measure; where labels are named, as if there were no others."""
        return Counts.of(*self._matrices(labels)).metrics()

    def _matrices(self, labels: Collection[str] | None) -> list[csr_matrix]:
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


class Measured(NamedTuple):
    """An evaluation with the answers that it was made of."""

    result: Evaluation
    answers: Answers


def measure(tagger: Tagger, part: Examples, request: Request, progress: Progress) -> Measured:
    """Evaluate a model and keep what it answers."""
    recorder = _Recorder(tagger)
    result = evaluate_tagger(cast("Tagger", recorder), part, request, progress)
    names = tuple(label.label for label in result.per_label)
    known = tagger.labels.frequencies
    places = {name: place for place, name in enumerate(names)}
    actual = [sorted({places[label] for label in one}) for one in part.label_sets]
    answers = Answers(
        names=names,
        frequencies=(*known, *(0 for _ in names[len(known) :])),
        ids=tuple(part.ids),
        chosen=Sets.of(recorder.chosen),
        actual=Sets.of(actual),
        groups=None if part.groups is None else tuple(part.groups),
    )
    return Measured(result, answers)


class _Recorder:
    """A tagger that remembers what it was heard to say."""

    def __init__(self, tagger: Tagger):
        self.tagger = tagger
        self.chosen: list[npt.NDArray[np.intp]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tagger, name)

    def infer(self, texts: Sequence[str], request: Request) -> Inference:
        answer = self.tagger.infer(texts, request)
        self.chosen += answer.chosen
        return answer
