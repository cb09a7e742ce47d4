"""Documents that lack a text or lack labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from seq2set.corpora.checks.check import Row
from seq2set.corpora.checks.finding import Finding, Tally, share_of

TEXTLESS_SHARE = 0.05
"""Above this share of train without text, the wrong column was probably read."""

UNLABELLED_SHARE = 0.1
"""Above this share of train without labels, models learn to give none."""


class Contents:
    """Finds documents without text and documents without labels."""

    def __init__(self, words_read: int | None = None) -> None:
        self._words_read = words_read
        self._textless, self._unlabelled, self._long = Tally(), Tally(), Tally()
        self._all: Counter[str] = Counter()
        self._without_text: Counter[str] = Counter()
        self._without_labels: Counter[str] = Counter()

    def see(self, row: Row) -> None:
        """Take in one document."""
        self._all[row.split] += 1
        if not row.words:
            self._textless.add(row.document.id)
            self._without_text[row.split] += 1
        if self._words_read is not None and len(row.words) > self._words_read:
            self._long.add(row.document.id)
        if not row.document.labels:
            self._unlabelled.add(row.document.id)
            self._without_labels[row.split] += 1

    def findings(self) -> Iterator[Finding]:
        """Tell how many documents lack what."""
        if self._textless.count:
            yield self._without_text_finding()
        if self._unlabelled.count:
            yield self._without_labels_finding()
        if self._long.count:
            yield self._long_finding()

    def _long_finding(self) -> Finding:
        limit = self._words_read
        return Finding(
            code="long-texts",
            level="note",
            what=f"{share_of(self._long.count, self._all.total())} documents have more than {limit} words",
            count=self._long.count,
            examples=self._long.examples,
            why=f"a network reads the first {limit} words under the preset `compact`; linear models read all",
            todo="raise encoder.max_words where what counts stands further back; training then takes longer",
        )

    def _without_text_finding(self) -> Finding:
        many = self._without_text["train"] > TEXTLESS_SHARE * self._all["train"]
        return Finding(
            code="documents-without-text",
            level="error" if many else "warning",
            what=f"{share_of(self._textless.count, self._all.total())} documents have no text",
            count=self._textless.count,
            examples=self._textless.examples,
            why="a model can only guess the labels of an empty text, and learns to guess from it",
            todo="see whether the right text column was named, and remove the documents that are empty",
        )

    def _without_labels_finding(self) -> Finding:
        bare, train = self._without_labels["train"], self._all["train"]
        none = 0 < train == bare
        return Finding(
            code="documents-without-labels",
            level="error" if none else "warning" if bare > UNLABELLED_SHARE * train else "note",
            what=f"{share_of(self._unlabelled.count, self._all.total())} documents have no labels"
            + (", among them all of train" if none else ""),
            count=self._unlabelled.count,
            examples=self._unlabelled.examples,
            why="where a label is missing rather than meant to be absent, a model learns to leave it out",
            todo="keep them if they truly have no labels; otherwise label them or remove them",
        )
