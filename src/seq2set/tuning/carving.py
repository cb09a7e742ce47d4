"""A validation split for a corpus that has none: asked for, as a study stands on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seq2set.corpora.document import Document
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.preparing import prepare
from seq2set.corpora.splits import SplitPlan
from seq2set.errors import CorpusError, InputError

BATCH = 1024

NOTHING_TO_CARVE = (
    "no training document can be set aside for validation without losing a label; give more documents a label"
)


def tunable(corpus: PreparedCorpus, carve: float | None) -> PreparedCorpus:
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


def carve_validation(corpus: PreparedCorpus, out: Path, share: float) -> None:
    """Write the corpus again, with a validation split taken out of its training split."""
    facts = corpus.facts
    carved = prepare(
        _documents(corpus),
        out,
        name=corpus.name,
        source=facts["source"],
        licence=facts["licence"],
        plan=SplitPlan("given", valid=share, test=0, seed=corpus.seed),
        max_words=None,
        notes=facts.get("notes"),
    )
    if not len(carved.split("valid")):
        raise CorpusError(NOTHING_TO_CARVE, corpus.folder)


def _documents(corpus: PreparedCorpus) -> Iterator[Document]:
    for name in ("train", "test"):
        for batch in corpus.split(name).iter_batches(BATCH):
            yield from batch
