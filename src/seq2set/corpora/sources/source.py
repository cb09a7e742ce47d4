"""What a known source is: facts about it, and a function that reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seq2set.corpora.document import Document
from seq2set.corpora.sources.options import SourceOptions
from seq2set.corpora.splits import SplitPlan

REMARKS = "remarks"
"""The note that holds sentences for the user; the console shows them."""

REPORT_AS = "report_as"
"""The note that holds the name to report results under, where it is not the name that was asked for."""

Notes = dict[str, object]


@dataclass(frozen=True)
class Reading:
    """The documents of a source, to be iterated over once, and what is to be known about them.

    `plan` is how this form of the source is split, with what the user asked for. `notes` goes to
    corpus.json; it is filled on the way and complete after the last document.
    """

    documents: Iterable[Document]
    plan: SplitPlan
    notes: Notes = field(default_factory=dict)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)


@dataclass(frozen=True)
class Source:
    """A corpus that is known by name.

    `read` takes the path that the user names, or None, and does no work before the first document is
    asked for, except to look which files there are.
    """

    name: str
    title: str
    obtained: str
    """How the corpus is had, in a sentence."""
    licence: str
    needs_path: bool
    read: Callable[[Path | None, SourceOptions], Reading]
    plan: SplitPlan
    """How it is split by default; `Reading.plan` says how it is split in the form that was found."""
    min_label_documents: int = 1
    max_words: int | None = 500
    splits: tuple[str, ...] = ()
    """The names that `SourceOptions.split` may take; none where there is only one split."""


def remark(notes: Notes, sentence: str) -> None:
    """Add a sentence for the user to the notes."""
    sentences = notes.setdefault(REMARKS, [])
    assert isinstance(sentences, list)
    sentences.append(sentence)
