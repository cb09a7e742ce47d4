"""Documents of a corpus as examples that models learn from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seq2set.core.errors import CorpusError
from seq2set.core.progress import Progress
from seq2set.corpora.carve import SHARE, carve_documents
from seq2set.corpora.prepared import PreparedCorpus, Split
from seq2set.corpora.readers.label_cells import guess_separator, quote_separator
from seq2set.corpora.splits import SplitPlan
from seq2set.labels.tree import LabelTree
from seq2set.models.tagger import Examples

UNSPLIT = SplitPlan("random", valid=0, test=0)
"""A plain file to measure on is taken whole, unless a split of it is asked for."""


def training_examples(corpus: PreparedCorpus, progress: Progress) -> tuple[Examples, Examples]:
    """Return what to learn from and what to tune on; where there is no validation, some is carved."""
    depths = label_depths(corpus)
    learn, tune = examples(corpus.split("train"), depths), examples(corpus.split("valid"), depths)
    if not len(learn):
        raise CorpusError("the training split is empty; there is nothing to learn from", corpus.folder)
    for remark in corpus.remarks:
        progress.note(remark)
    if (sign := guess_separator(learn.label_sets)) is not None:
        quoted = quote_separator(sign)
        progress.note(
            f"no document has two labels, and some look like several joined by {quoted}; if so, "
            f"split them with --set data.separator={quoted}"
        )
    if len(tune):
        return learn, tune
    aside = carve_documents(learn.label_sets, SHARE, corpus.seed, learn.groups)
    if not aside.any():
        progress.note(
            f"{corpus.name} has no validation split, and no training document can be set aside without "
            "losing a label, so the model is tuned on the documents that it learns from; give more of them a "
            "label"
        )
        return learn, learn
    progress.note(
        f"{corpus.name} has no validation split: {aside.sum()} training documents are set aside for tuning"
    )
    return learn.pick(np.flatnonzero(~aside)), learn.pick(np.flatnonzero(aside))


def examples(split: Split, depths: Mapping[str, int] | None = None) -> Examples:
    """Load a whole split into memory."""
    return Examples(split.texts(), split.labels(), split.ids(), depths, split.groups())


def label_depths(corpus: PreparedCorpus) -> dict[str, int]:
    """Return how deep each label stands in the corpus's tree of labels; nothing where it has none."""
    tree = LabelTree(corpus.facts.get("notes", {}).get("tree") or {})
    return {label: tree.depth(label) for label in tree.parents}
