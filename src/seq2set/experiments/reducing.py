"""A part of a corpus as a prepared corpus of its own, for experiments that train on less.

It is written once and then only opened. Its notes say what it was made from and how; a folder that holds
something else is refused, because cells that were trained on it would be taken for cells of this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from seq2set.corpora.document import SPLITS, Document
from seq2set.corpora.prepared import PreparedCorpus, is_prepared
from seq2set.corpora.preparing import prepare
from seq2set.corpora.splits import SplitPlan
from seq2set.errors import InputError

BATCH = 4096
"""How many documents are held in memory at a time."""

NOTE = "reduced"
"""Where the notes of a reduced corpus say what it was made from and how."""

Reduce = Callable[[Document], Document | None]
"""Gives a document as it is to be, or None where it is to be left out."""


def reduced_corpus(
    corpus: PreparedCorpus, folder: Path, reduce: Reduce, *, name: str, how: dict[str, Any]
) -> PreparedCorpus:
    """Open the reduced corpus in `folder`, or make it: `how` must say all that `reduce` depends on."""
    made = {"from": corpus.name, "fingerprint": corpus.fingerprint, **how}
    if is_prepared(folder):
        return _same(PreparedCorpus.open(folder), made)
    notes = corpus.facts.get("notes", {})
    return prepare(
        _documents(corpus, reduce),
        folder,
        name=name,
        source=f"a part of {corpus.name}: {corpus.facts['source']}",
        licence=corpus.facts["licence"],
        plan=SplitPlan("given", valid=0, test=0),
        max_words=None,
        notes={NOTE: made} | ({"tree": notes["tree"]} if "tree" in notes else {}),
    )


def _documents(corpus: PreparedCorpus, reduce: Reduce) -> Iterator[Document]:
    for split in SPLITS:
        for batch in corpus.split(split).iter_batches(BATCH):
            yield from filter(None, map(reduce, batch))


def _same(found: PreparedCorpus, made: dict[str, Any]) -> PreparedCorpus:
    if (seen := found.facts["notes"].get(NOTE)) != made:
        raise InputError(
            f"{found.folder} was made from something else ({seen}, not {made}); use another --out"
        )
    return found
