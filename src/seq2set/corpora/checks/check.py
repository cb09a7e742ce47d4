"""What every check is: something that sees each document once and then tells what it found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from seq2set.corpora.checks.finding import Finding
from seq2set.corpora.document import Document


class Row(NamedTuple):
    """A document as the checks see it: its split, and its words in folded case."""

    split: str
    document: Document
    words: list[str]


class Check(Protocol):
    """One kind of check; the rows come split by split, in the order of `SPLITS`."""

    def see(self, row: Row) -> None:
        """Take in one document."""
        ...

    def findings(self) -> Iterator[Finding]:
        """Tell what was found, once all documents were seen."""
        ...
