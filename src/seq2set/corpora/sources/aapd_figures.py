"""Which corpus a folder in the AAPD layout holds, told by its sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from seq2set.corpora.document import Document

UNKNOWN = "unknown"
"""What `recognise` says of figures that are nobody's."""

_LABELS_TOLERANCE = 0.02  # folding repeated labels lowers AAPD's own mean a little
_WORDS_TOLERANCE = 1.0  # what counts as a word differs a little from tool to tool


class Figures(NamedTuple):
    """The sizes of a corpus."""

    train: int
    valid: int
    test: int
    labels: int
    labels_per_document: float
    words_per_document: float


KNOWN = {
    "aapd": Figures(53_840, 1_000, 1_000, 54, 2.41, 163.42),
    "arxiv2026": Figures(53_840, 1_000, 1_000, 53, 2.54, 204.0),
}
"""The figures of the corpora that come in the AAPD layout."""


@dataclass
class Tally:
    """Counts documents on their way past."""

    splits: dict[str, int] = field(default_factory=lambda: {"train": 0, "valid": 0, "test": 0})
    names: set[str] = field(default_factory=set)
    labels: int = 0
    words: int = 0

    def counted(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Give the documents unchanged, and count them."""
        for document in documents:
            assert document.split is not None
            self.splits[document.split] += 1
            self.names.update(document.labels)
            self.labels += len(document.labels)
            self.words += len(document.text.split())
            yield document

    def figures(self) -> Figures:
        """Return the sizes of what was counted."""
        documents = max(1, sum(self.splits.values()))
        return Figures(
            **self.splits,
            labels=len(self.names),
            labels_per_document=round(self.labels / documents, 2),
            words_per_document=round(self.words / documents, 2),
        )


def recognise(figures: Figures) -> str:
    """Return the name of the corpus that has these figures, or `unknown`."""
    return next((name for name, known in KNOWN.items() if not differences(figures, known)), UNKNOWN)


def differences(figures: Figures, known: Figures) -> list[str]:
    """Say in which respects figures differ from known ones."""
    pairs = zip(Figures._fields, figures, known, strict=True)
    return [
        f"{_NAMES[name]} {_shown(seen)} (not {_shown(wanted)})"
        for name, seen, wanted in pairs
        if abs(seen - wanted) > _TOLERANCES.get(name, 0)
    ]


_TOLERANCES = {"labels_per_document": _LABELS_TOLERANCE, "words_per_document": _WORDS_TOLERANCE}
_NAMES = {
    "train": "training documents",
    "valid": "validation documents",
    "test": "test documents",
    "labels": "labels",
    "labels_per_document": "labels a document",
    "words_per_document": "words a document",
}


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
