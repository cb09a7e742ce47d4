"""What a user may ask of a known source.

What a known source is: facts about it, and a function that reads it.

Only labels that enough documents have, and only documents that keep one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from seq2set.core.errors import CorpusError, InputError, UnknownNameError
from seq2set.corpora.documents import Document
from seq2set.corpora.splits import SplitPlan


@dataclass(frozen=True)
class SourceOptions:
    """What a user may ask of a known source; None leaves the choice to the source.

    `split` names one of the source's splits. `valid` and `test` are numbers of documents or shares, and
    `seed` is the seed, of whatever part of the split is random. Labels of fewer than `min_label_documents`
    documents are dropped.
    """

    split: str | None = None
    valid: int | float | None = None
    test: int | float | None = None
    seed: int | None = None
    encoding: str | None = None
    min_label_documents: int | None = None

    def plan(self, default: SplitPlan) -> SplitPlan:
        """Return a source's split plan with the sizes and the seed that were asked for."""
        return replace(
            default,
            valid=default.valid if self.valid is None else self.valid,
            test=default.test if self.test is None else self.test,
            seed=default.seed if self.seed is None else self.seed,
        )

    def least_documents(self, default: int) -> int:
        """Return how many documents a label must have, by default as many as the source wants."""
        return default if self.min_label_documents is None else self.min_label_documents

    def chosen_split(self, source: str, known: tuple[str, ...] = ()) -> str | None:
        """Return the split asked for, or refuse a name that the source does not have."""
        if self.split is None or self.split in known:
            return self.split
        if not known:
            raise InputError(f"split is '{self.split}'; {source} has one split only, so name none")
        raise UnknownNameError(f"{source}'s split", self.split, known)


DEFAULT_SOURCE_OPTIONS = SourceOptions()
"""What is read where nothing is asked for."""


REMARKS = "remarks"
"""The note that holds sentences for the user; the console shows them."""

REPORT_AS = "report_as"
"""The note that holds the name to report results under, where it is not the name that was asked for."""

Notes = dict[str, object]


@dataclass(frozen=True)
class RawCorpus:
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
class CorpusSource:
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
    read: Callable[[Path | None, SourceOptions], RawCorpus]
    plan: SplitPlan
    """How it is split by default; `Reading.plan` says how it is split in the form that was found."""
    min_label_documents: int = 1
    max_words: int | None = 500
    splits: tuple[str, ...] = ()
    """The names that `SourceOptions.split` may take; none where there is only one split."""


def add_remark(notes: Notes, sentence: str) -> None:
    """Add a sentence for the user to the notes."""
    sentences = notes.setdefault(REMARKS, [])
    assert isinstance(sentences, list)
    sentences.append(sentence)


def keep_frequent_labels(
    documents: Iterable[Document], min_documents: int, notes: Notes
) -> Iterator[Document]:
    """Give the documents with only the labels that at least `min_documents` of them have.

    A document that keeps none is left out, for its true labels are unknown to the corpus, which is not
    the same as having none; `notes` is told how many. An id that comes again replaces the earlier
    document. All documents are held in memory, so this is for corpora of up to some 100,000.
    """
    if min_documents < 1:
        raise InputError(f"min_label_documents is {min_documents}; it must be 1 or more")
    unique = {document.id: document for document in documents}.values()
    counts = Counter(label for document in unique for label in document.labels)
    dropped = 0
    for document in unique:
        labels = tuple(label for label in document.labels if counts[label] >= min_documents)
        if labels:
            yield document._replace(labels=labels)
        else:
            dropped += 1
    if dropped == len(unique):
        raise CorpusError(
            f"no label has at least {min_documents} documents among the {dropped:,} that were read"
        )
    notes["frequent_labels"] = {"min_documents": min_documents, "documents_left_out": dropped}
