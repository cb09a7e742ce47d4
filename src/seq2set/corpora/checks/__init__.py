"""What would spoil a training run, found before it starts.

`check_corpus` reads a corpus once and returns findings. A finding is

- an **error** where training on the corpus, or a figure measured on it, would be wrong: an empty training
  split, no label at all in it, more than 5 % of its documents without text (the wrong column was probably
  read), or more than 1 % of the test documents standing word for word in train or valid;
- a **warning** where results will be worse than they need be, or should be read with care. This holds for
  fewer duplicates too (well-known corpora have some, and their splits are fixed), for duplicates in valid,
  and for near-duplicates, which may be texts of one pattern with different facts;
- a **note** where something is worth knowing and may well be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args

from seq2set.core.errors import InputError
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.readers.cells.label_cells import EXAMPLES, ValueCounter

Level = Literal["error", "warning", "note"]

LEVELS: tuple[str, ...] = get_args(Level)
"""The levels, the gravest first."""


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


class ExampleCounter(ValueCounter):
    """A count with its first few examples, which make a finding."""

    def make_finding(self, code: str, level: Level, what: str, why: str, todo: str) -> Finding:
        """Return what was counted as a finding."""
        return Finding(code, level, what, self.count, tuple(self.examples), why, todo)


def describe_found(
    code: str, what: str, found: Sequence[str], why: str, todo: str, level: Level = "warning"
) -> Finding:
    """Return as a finding what stands in a list."""
    return Finding(code, level, what, len(found), tuple(found[:EXAMPLES]), why, todo)


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


LEAST_SIMILARITY = 0.5
"""Below this, texts on one subject would be called near-duplicates, and the search would take long."""


def check_corpus(
    corpus: PreparedCorpus,
    *,
    min_label_documents: int = 5,
    near_duplicate: float = 0.9,
    words_read: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Finding]:
    """Find what would spoil a training run, the gravest first.

    A label is rare below `min_label_documents` documents in train. Two texts are near-duplicates when
    the Jaccard similarity of their runs of three words is `near_duplicate` or more. Texts of more than
    `words_read` words are counted, since a network will not read their end.
    `progress` is called with the number of documents read since its last call.
    """
    if min_label_documents < 1:
        raise InputError(f"min_label_documents is {min_label_documents}; it must be >= 1")
    if not LEAST_SIMILARITY <= near_duplicate <= 1:
        raise InputError(f"near_duplicate is {near_duplicate:g}; it must lie in [{LEAST_SIMILARITY}, 1]")
    # Here, because each of these files needs what stands above.
    from seq2set.corpora.checks.contents import Contents, Damage, UnsplitTexts
    from seq2set.corpora.checks.duplicates import ExactDuplicates, NearDuplicates
    from seq2set.corpora.checks.labels import ProblemLabels, RowsPerLabel

    exact = ExactDuplicates()
    checks: list[Check] = [
        exact,
        NearDuplicates(corpus, exact, near_duplicate),
        Contents(words_read),
        RowsPerLabel(),
        ProblemLabels(min_label_documents),
        Damage(),
        UnsplitTexts(),
    ]
    for split, document in corpus.iter_documents(progress):
        row = CheckedDocument(split, document, document.text.casefold().split())
        for check in checks:
            check.see(row)
    findings = [finding for check in checks for finding in check.findings()]
    return sorted([*_find_empty_splits(corpus), *findings], key=lambda finding: LEVELS.index(finding.level))


_WHY_FILLED = {
    "train": "a model has nothing to learn from",
    "valid": "thresholds cannot be tuned and the best moment to stop training cannot be found",
    "test": "the quality of a model cannot be measured",
}


def _find_empty_splits(corpus: PreparedCorpus) -> Iterator[Finding]:
    for split in (name for name in SPLITS if not len(corpus.split(name))):
        level: Level = "error" if split == "train" else "warning"
        todo = f"prepare the corpus again and set aside documents for {split}"
        yield describe_found(
            "empty-split", f"the {split} split has no documents", [split], _WHY_FILLED[split], todo, level
        )
