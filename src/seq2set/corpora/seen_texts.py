"""The texts that a model has seen, kept as short hashes, and documents to measure on that are among them.

A figure on documents that were learnt or tuned on is too good. A model therefore remembers 8 bytes of a hash
of each text: enough to notice it again wherever the model is copied to and whatever became of the corpus, and
too little to read it. Case, white space and the Unicode form of a text make no difference; empty texts count
as unseen.

Who has the folder and a text can find out whether the model was trained on it. The file may be deleted from
the folder where that matters; then nothing can be noticed.

Shapes: N documents.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from seq2set.core.text_utils import replace_surrogates
from seq2set.corpora.documents import Document

Digests = NDArray[np.uint64]

BATCH = 1024
EMPTY = 0
"""Stands for a text without a word."""


class Documents(Protocol):
    """Documents that can be read more than once."""

    def __len__(self) -> int:
        """Return how many documents there are."""

    def iter_labels(self) -> Iterator[Sequence[str]]:
        """Yield the labels of each document."""

    def iter_batches(self, size: int) -> Iterator[list[Document]]:
        """Yield the documents in batches."""


def hash_texts(texts: Iterable[str]) -> Digests:
    """Return a number for each text (N,) that is the same where the words are."""
    found = array("Q")  # grows by an eighth, where NumPy's own grows by a half
    found.extend(map(_digest, texts))
    return np.frombuffer(found, np.uint64) if found else np.zeros(0, np.uint64)


def _digest(text: str) -> int:
    folded = unicodedata.normalize("NFC", replace_surrogates(text)).casefold()
    words = " ".join(folded.split())
    # 64 bits: among a million texts, two unlike ones share a digest once in 40 million corpora.
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=8).digest(), "big") if words else EMPTY


def join_copies(texts: Iterable[str], groups: Sequence[str] | None = None) -> NDArray[np.int64]:
    """Return a number for each document (N,): the same in a group, of equal texts, and of both in turn.

    Where no text stands twice they number the groups in their order, or the documents.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    digests = hash_texts(texts)
    count, documents = len(digests), np.arange(len(digests))
    own = documents if groups is None else np.unique(np.array(groups), return_inverse=True)[1]
    of_text = np.where(digests == EMPTY, count + documents, np.unique(digests, return_inverse=True)[1])
    pairs = csr_matrix((np.ones(count), (of_text, 2 * count + own)), (3 * count, 3 * count))
    of_unit = connected_components(pairs, directed=False)[1][of_text]
    least = np.full(3 * count, count)
    np.minimum.at(least, of_unit, own)
    return np.asarray(least[of_unit])


class SeenTexts(NamedTuple):
    """The digests of the texts that a model learnt and was tuned on, in ascending order; None: not known."""

    trained: Digests | None
    tuned: Digests | None

    @classmethod
    def of(cls, trained: Iterable[str], tuned: Iterable[str]) -> SeenTexts:
        """Remember the texts of a training and of its validation."""
        return cls(_sort_unique(hash_texts(trained)), _sort_unique(hash_texts(tuned)))

    @classmethod
    def from_arrays(cls, saved: Mapping[str, Digests]) -> SeenTexts:
        """Read back what `arrays` gave."""
        return cls(saved.get("trained"), saved.get("tuned"))

    def arrays(self) -> dict[str, Digests]:
        """Return what is known as arrays by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def add_tuned(self, digests: Digests) -> SeenTexts:
        """Remember further texts that the model was tuned on."""
        before = np.empty(0, np.uint64) if self.tuned is None else self.tuned
        return self._replace(tuned=_sort_unique(np.concatenate([before, digests])))

    def join(self, other: SeenTexts) -> SeenTexts:
        """Remember the texts of another model as well, from which this one began."""
        pairs = zip(self, other, strict=True)
        parts = [[one for one in pair if one is not None] for pair in pairs]
        return SeenTexts(*(_sort_unique(np.concatenate(part)) if part else None for part in parts))


NOTHING_KNOWN = SeenTexts(None, None)
"""What is known of the texts of a model that kept no hashes."""


def _sort_unique(digests: Digests) -> Digests:
    """Return each digest of a text with words once; the array is sorted in place, for there may be many."""
    digests.sort()
    new = np.append(True, digests[1:] != digests[:-1])[: len(digests)]
    return np.asarray(digests[new & (digests != EMPTY)])


@dataclass(frozen=True)
class Overlap:
    """How many of the documents to measure on the model has seen before."""

    documents: int
    trained_on: int | None
    """None where it cannot be known"""
    tuned_on: int | None
    """Those that were used for tuning and not for training as well"""
    left_out: int
    same_corpus: bool = False
    """Whether they are of the very corpus that the model was trained on, whose splits keep apart"""
    changed: str | None = None
    """A sentence, where they come from the model's corpus and it is not what it was at the training"""

    def sentences(self, to_keep: str = "", to_leave_out: str = "") -> list[str]:
        """Describe what a reader of the figures must know, with hints how to keep or drop the seen."""
        said = [] if self.changed is None else [self.changed]
        if self.trained_on is None:
            if self.same_corpus:
                return said
            return [
                *said,
                "whether the model was trained on some of these documents cannot be checked: its folder "
                "holds no hashes of the texts that it was trained on",
            ]
        counts = [(self.trained_on, "trained on"), (self.tuned_on or 0, "used for tuning")]
        seen = " and ".join(
            f"{count:,} {'was' if count == 1 else 'were'} {what}" for count, what in counts if count
        )
        if not seen:
            return said
        some = sum(count for count, _ in counts) < self.documents
        fate = f"figures on them are too good{to_leave_out if some else ''}"
        if self.left_out:
            fate = f"{self.left_out:,} left out{to_keep}"
        return [*said, f"of these {self.documents:,} documents {seen}: {fate}"]

    def to_dict(self) -> dict[str, int | bool | None]:
        """Return the counts as plain JSON."""
        return {
            "trained_on": self.trained_on,
            "used_for_tuning": self.tuned_on,
            "left_out": self.left_out,
            "corpus_changed": self.changed is not None,
        }


class Selection(NamedTuple):
    """The documents that are left to measure on."""

    part: Documents
    overlap: Overlap
    fingerprint: str
    """The same where texts and labels are the same, in the same order"""
    kept: NDArray[np.bool_]
    """Which of all documents these are"""
    digests: Digests
    """Those of their texts (N,)"""


def select_unseen(
    part: Documents,
    seen: SeenTexts,
    leave_out: Collection[str],
    *,
    same_corpus: bool = False,
    changed: str | None = None,
) -> Selection:
    """Count the documents that a model has seen, and leave out those that it was `trained` or `tuned` on.

    `leave_out` names one of the two, both or none. What a model does not know of cannot be left out.
    """
    digests = _hash_documents(part)
    trained = find_seen(digests, seen.trained)
    tuned = find_seen(digests, seen.tuned) & ~trained
    away = np.zeros(len(part), bool)
    for reason, mask in (("trained", trained), ("tuned", tuned)):
        if reason in leave_out:
            away |= mask
    known = seen.trained is not None
    overlap = Overlap(
        documents=len(part),
        trained_on=int(trained.sum()) if known else None,
        tuned_on=int(tuned.sum()) if seen.tuned is not None else None,
        left_out=int(away.sum()),
        same_corpus=same_corpus,
        changed=changed,
    )
    left = _KeptPart(part, ~away) if away.any() else part
    return Selection(left, overlap, _compute_fingerprint(left, kept := digests[~away]), ~away, kept)


def _hash_documents(part: Documents) -> Digests:
    return hash_texts(document.text for batch in part.iter_batches(BATCH) for document in batch)


def find_seen(digests: Digests, seen: Digests | None) -> NDArray[np.bool_]:
    """Say of each digest whether it is among those seen, which ascend."""
    if seen is None or not len(seen):
        return np.zeros(len(digests), bool)
    places = np.minimum(np.searchsorted(seen, digests), len(seen) - 1)
    return np.asarray(seen[places] == digests)


def number_texts(digests: Digests) -> NDArray[np.intp] | None:
    """Return the number of each text (N,), where texts are the same and not empty; None where few are."""
    apart = np.where(digests == EMPTY, np.arange(len(digests), dtype=np.uint64), digests)
    _, numbers, copies = np.unique(apart, return_inverse=True, return_counts=True)
    # Few copies lengthen an interval by half a hundredth, and would keep all documents in memory at once.
    return numbers if (copies**2).sum() > 1.01 * len(digests) else None


def _compute_fingerprint(part: Documents, digests: Digests) -> str:
    digest = hashlib.sha256(digests.tobytes())
    for one in part.iter_labels():
        digest.update(json.dumps(sorted(set(one))).encode())
    return digest.hexdigest()[:16]


class _KeptPart:
    """Some of the documents of a part, in their order."""

    def __init__(self, part: Documents, kept: NDArray[np.bool_]):
        self._part, self._kept = part, kept

    def __len__(self) -> int:
        return int(self._kept.sum())

    def iter_labels(self) -> Iterator[Sequence[str]]:
        """Yield the labels of the documents that are kept."""
        return (one for one, kept in zip(self._part.iter_labels(), self._kept, strict=True) if kept)

    def iter_batches(self, size: int) -> Iterator[list[Document]]:
        """Yield the documents that are kept in batches of at most `size`."""
        kept = iter(self._kept)
        for batch in self._part.iter_batches(size):
            if chosen := [document for document in batch if next(kept)]:
                yield chosen
