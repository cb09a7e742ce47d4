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

from collections.abc import Callable, Iterator

from seq2set.core.errors import InputError
from seq2set.corpora.checks.check import LEVELS, Check, CheckedDocument, Finding
from seq2set.corpora.checks.contents import Contents, Damage, EmptySplits
from seq2set.corpora.checks.exact_duplicates import ExactDuplicates
from seq2set.corpora.checks.labels import ProblemLabels
from seq2set.corpora.checks.near_duplicates import BATCH, NearDuplicates
from seq2set.corpora.documents import SPLITS
from seq2set.corpora.prepared import PreparedCorpus

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
    checks = _checks(corpus, min_label_documents, near_duplicate, words_read)
    for row in _rows(corpus, progress):
        for check in checks:
            check.see(row)
    findings = [finding for check in checks for finding in check.findings()]
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))


def _checks(
    corpus: PreparedCorpus, min_label_documents: int, near_duplicate: float, words_read: int | None
) -> list[Check]:
    exact = ExactDuplicates()
    near = NearDuplicates(corpus, exact, near_duplicate)
    return [EmptySplits(), exact, near, Contents(words_read), ProblemLabels(min_label_documents), Damage()]


def _rows(corpus: PreparedCorpus, progress: Callable[[int], None] | None) -> Iterator[CheckedDocument]:
    for split in SPLITS:
        for batch in corpus.split(split).iter_batches(BATCH):
            for document in batch:
                yield CheckedDocument(split, document, document.text.casefold().split())
            if progress:
                progress(len(batch))
