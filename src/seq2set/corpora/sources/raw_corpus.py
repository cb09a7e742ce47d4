"""The documents of a known source before they are prepared, and what is to be known about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.splits import SplitPlan

REMARKS = "remarks"
"""The note that holds sentences for the user; the console shows them."""

REPORT_AS = "report_as"
"""The note that holds the name to report results under, where it is not the name that was asked for."""

Notes = dict[str, object]


@dataclass(frozen=True)
class RawCorpus:
    """The documents of a source, to be iterated over once.

    `plan` is how this form of the source is split, with what the user asked for. `notes` goes to
    corpus.json; it is filled on the way and complete after the last document.
    """

    documents: Iterable[Document]
    plan: SplitPlan
    notes: Notes = field(default_factory=dict)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)


def add_remark(notes: Notes, sentence: str) -> None:
    """Add a sentence for the user to the notes."""
    sentences = notes.setdefault(REMARKS, [])
    assert isinstance(sentences, list)
    sentences.append(sentence)


def keep_frequent_labels(
    documents: Iterable[Document], min_documents: int, notes: Notes
) -> Iterator[Document]:
    """Yield the documents with only the labels that at least `min_documents` of them have.

    A document that keeps none is left out: its true labels are unknown to the corpus, which is not the same
    as having none; `notes` says how many. An id that comes again replaces the earlier document. All documents
    are held in memory, so this is for corpora of up to some 100,000.
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
