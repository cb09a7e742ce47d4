"""Corpora made of other corpora: a part to train on less, or the same with a validation split.

A reduced corpus is written once and then only opened. Its notes say what it was made from and how; a folder
that holds something else is refused, because cells that were trained on it would be taken for cells of this
one. A validation split is carved only where it is asked for, as a study stands on it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import DRAWN, STRIPPED, PreparedCorpus, is_prepared
from seq2set.corpora.splits import SplitPlan

NOTE = "reduced"
"""Where the notes of a reduced corpus say what it was made from and how."""

Reduce = Callable[[Document], Document | None]
"""Returns a document as it is to be, or None where it is to be left out."""


def open_reduced_corpus(
    corpus: PreparedCorpus, folder: Path, reduce: Reduce, *, name: str, how: dict[str, Any]
) -> PreparedCorpus:
    """Open the reduced corpus in `folder`, or make it: `how` must say all that `reduce` depends on."""
    made = {"from": corpus.name, "fingerprint": corpus.fingerprint, **how}
    if is_prepared(folder):
        found = PreparedCorpus.open(folder)
        if (seen := found.facts["notes"].get(NOTE)) != made:
            raise InputError(
                f"{found.folder} was made from something else ({seen}, not {made}); use another --out"
            )
        return found
    notes = corpus.facts.get("notes", {})
    return prepare(
        filter(None, (reduce(document) for _, document in corpus.iter_documents())),
        folder,
        name=name,
        source=f"a part of {corpus.name}: {corpus.facts['source']}",
        licence=corpus.facts["licence"],
        plan=SplitPlan("given", valid=0, test=0),
        notes={NOTE: made}
        | {name: notes[name] for name in ("tree", STRIPPED) if name in notes}
        | _note_splits(corpus),
    )


def _note_splits(corpus: PreparedCorpus) -> dict[str, Any]:
    """Note that the splits did not come with the documents, where that is so of the whole corpus."""
    return {} if corpus.has_given_splits else {DRAWN: True}


NOTHING_TO_CARVE = (
    "no training document can be set aside for validation without losing a label; give more documents a label"
)


def check_tunable(corpus: PreparedCorpus, carve: float | None) -> PreparedCorpus:
    """Refuse a corpus without a validation split unless some is to be carved, and the other way round."""
    validation = len(corpus.split("valid"))
    if not validation and carve is None:
        raise CorpusError(
            "there is no validation split to tune on; pass --carve 0.1 to set a tenth of the training "
            "split aside as one",
            corpus.folder,
        )
    if validation and carve is not None:
        raise CorpusError(
            f"there is a validation split of {validation:,} documents; leave --carve out", corpus.folder
        )
    if carve is not None and not 0 < carve < 1:
        raise InputError(f"--carve is {carve:g}; it must lie between 0 and 1")
    return corpus


def write_carved_corpus(corpus: PreparedCorpus, out: Path, share: float) -> None:
    """Write the corpus again, with a validation split taken out of its training split."""
    facts = corpus.facts
    carved = prepare(
        (document for _, document in corpus.iter_documents()),
        out,
        name=corpus.name,
        source=facts["source"],
        licence=facts["licence"],
        plan=SplitPlan("given", valid=share, test=0, seed=corpus.seed),
        notes=facts.get("notes", {}) | _note_splits(corpus),
    )
    if not len(carved.split("valid")):
        raise CorpusError(NOTHING_TO_CARVE, corpus.folder)
