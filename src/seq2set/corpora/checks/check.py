"""What every check is: something that sees each document once and then returns what it found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args

from seq2set.corpora.documents import Document

Level = Literal["error", "warning", "note"]

LEVELS: tuple[str, ...] = get_args(Level)
"""The levels, the gravest first."""

MOST_EXAMPLES = 5
"""How many examples a finding shows."""


@dataclass(frozen=True)
class Finding:
    """A fault, or something worth knowing; `examples` are ids or labels."""

    code: str
    level: Level
    what: str
    count: int
    examples: tuple[str, ...]
    why: str
    todo: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON takes them."""
        return asdict(self) | {"examples": list(self.examples)}


class ExampleCounter:
    """A count with its first few examples."""

    def __init__(self) -> None:
        self.count = 0
        self._examples: list[str] = []

    def add(self, example: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self._examples) < MOST_EXAMPLES:
            self._examples.append(example)

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few that were counted."""
        return tuple(self._examples)


def format_share(count: int, total: int) -> str:
    """Format a count beside its total: `12 of 1,000 (1.2 %)`."""
    return f"{count:,} of {total:,} ({100 * count / max(total, 1):.1f} %)"


class CheckedDocument(NamedTuple):
    """A document as the checks see it: its split, and its words in folded case."""

    split: str
    document: Document
    words: list[str]


class Check(Protocol):
    """One kind of check; the rows come split by split, in the order of `SPLITS`."""

    def see(self, row: CheckedDocument) -> None:
        """Take in one document."""
        ...

    def findings(self) -> Iterator[Finding]:
        """Yield what was found, once all documents were seen."""
        ...
