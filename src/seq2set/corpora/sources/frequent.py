"""Only labels that enough documents have, and only documents that keep one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from seq2set.corpora.document import Document
from seq2set.corpora.sources.source import Notes
from seq2set.errors import CorpusError, InputError


def with_frequent_labels(
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
