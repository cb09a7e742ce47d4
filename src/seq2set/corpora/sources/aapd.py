"""AAPD, and arxiv2026, which has its layout and its sizes but is not AAPD.

Both are split as given. Labels that a document repeats are folded. What was read is compared with the
figures that are known of the two, and the notes say which of them was seen, so that results on other files
are never taken for results on AAPD. The paper's limit of 500 words applies: AAPD's published sizes are
after it, so that it removes nothing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.readers.aapd import read_aapd
from seq2set.corpora.readers.options import ReadOptions
from seq2set.corpora.sources.raw_corpus import REPORT_AS, Notes, RawCorpus, add_remark
from seq2set.corpora.splits import SplitPlan

UNKNOWN = "unknown"
"""What `recognise` says of figures that are nobody's."""


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
class FigureCounter:
    """Counts documents on their way past."""

    splits: dict[str, int] = field(default_factory=lambda: {"train": 0, "valid": 0, "test": 0})
    names: set[str] = field(default_factory=set)
    labels: int = 0
    words: int = 0

    def count(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents unchanged, and count them."""
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
    return next((name for name, known in KNOWN.items() if not list_differences(figures, known)), UNKNOWN)


def list_differences(figures: Figures, known: Figures) -> list[str]:
    """List the respects in which figures differ from known ones."""
    pairs = zip(Figures._fields, figures, known, strict=True)
    return [
        f"{_NAMES[name]} {_format(seen)} (not {_format(wanted)})"
        for name, seen, wanted in pairs
        if abs(seen - wanted) > _TOLERANCES.get(name, 0)
    ]


_TOLERANCES = {
    "labels_per_document": 0.02,  # folding repeated labels lowers AAPD's own mean a little
    "words_per_document": 1.0,  # what counts as a word differs a little from tool to tool
}
_NAMES = {
    "train": "training documents",
    "valid": "validation documents",
    "test": "test documents",
    "labels": "labels",
    "labels_per_document": "labels per document",
    "words_per_document": "words per document",
}


def _format(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


_PLAN = SplitPlan("given", valid=0.1)


def _read(asked: str, path: Path, options: PrepareOptions) -> RawCorpus:
    """Read the files that the user has as the corpus `asked`."""
    if not path.is_dir():
        raise CorpusError(
            f"{asked} is read from the folder that holds text_train, label_train and so on: "
            "name it with --from",
            path,
        )
    notes: Notes = {}
    documents = _read_documents(asked, path, options.encoding or "utf-8", notes)
    return RawCorpus(documents, options.complete(_PLAN), notes)


read_aapd_corpus, read_arxiv2026 = partial(_read, "aapd"), partial(_read, "arxiv2026")


def _read_documents(asked: str, folder: Path, encoding: str, notes: Notes) -> Iterator[Document]:
    counter = FigureCounter()
    yield from counter.count(read_aapd(folder, ReadOptions(encoding=encoding)))
    figures = counter.figures()
    seen = recognise(figures)
    notes["recognised_as"] = seen
    verdict = f"these files have the figures of {asked}"
    if seen != asked:
        notes[REPORT_AS] = seen if seen != UNKNOWN else f"not-{asked}"
        what = ", ".join(list_differences(figures, KNOWN[asked]))
        looks = "they are no corpus that is known" if seen == UNKNOWN else f"they have the figures of {seen}"
        verdict = f"these files are not {asked}: {what}; {looks}, so do not report results on them as {asked}"
    notes["figures_as_read"] = figures._asdict()
    add_remark(notes, verdict)
