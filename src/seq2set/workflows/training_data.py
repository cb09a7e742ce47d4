"""What a model learns from and is tuned on: the splits of a corpus, or texts of which a part is set aside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from seq2set.core.errors import CorpusError, InputError
from seq2set.core.progress import Progress
from seq2set.corpora.carve import SEED, SHARE, carve_documents
from seq2set.corpora.checks import Finding
from seq2set.corpora.checks.labels import RowsPerLabel
from seq2set.corpora.prepared import PreparedCorpus, Split
from seq2set.corpora.readers.cells.separators import guess_separator, quote_separator
from seq2set.corpora.seen_texts import SeenTexts, find_seen, hash_texts, join_copies
from seq2set.labels.labels import LabelTree
from seq2set.models.tagger import Examples


class TrainingData(NamedTuple):
    """The examples of a training."""

    learn: Examples
    tune: Examples
    """What weights, settings and thresholds are chosen on; the same as `learn` where none can be spared"""

    @property
    def is_carved(self) -> bool:
        """Whether other examples are tuned on than are learnt from."""
        return self.tune is not self.learn


def load_training_data(corpus: PreparedCorpus, progress: Progress) -> TrainingData:
    """Load the training and validation splits; where there is no validation, some is carved."""
    depths = read_label_depths(corpus)
    learn, tune = (load_examples(corpus.split(name), depths) for name in ("train", "valid"))
    if not len(learn):
        raise CorpusError("the training split is empty; there is nothing to learn from", corpus.folder)
    for remark in corpus.remarks:
        progress.note(remark)
    if (sign := guess_separator(learn.label_sets)) is not None:
        quoted = quote_separator(sign)
        progress.note(
            f"no document has two labels, and some look like several joined by {quoted}; if so, "
            f"split them with --separator {quoted}"
        )
    for finding in _find_label_rows(learn):
        progress.note(f"{finding.what}; {finding.todo}")
    lacks = "no other validation documents" if len(tune) else "no validation split"
    if len(tune):
        tune = _leave_out_copies(learn, tune, progress)
    if len(tune):
        return TrainingData(learn, tune)
    data = carve_validation(learn, SHARE, corpus.seed)
    if data.is_carved:
        outcome = f": {len(data.tune)} training documents are set aside for tuning"
    else:
        outcome = (
            ", and no training document can be set aside without losing a label, so the model is tuned on "
            "the documents that it learns from; give more of them a label"
        )
    progress.note(f"{corpus.name} has {lacks}{outcome}")
    return data


def _leave_out_copies(learn: Examples, tune: Examples, progress: Progress) -> Examples:
    """Leave out what is learnt, too: tuned on that, a model would trust what it knows by heart."""
    learnt = SeenTexts.of(learn.texts, ())
    copied = find_seen(hash_texts(tune.texts), learnt.trained)
    if not copied.any():
        return tune
    what = f"{copied.sum():,} of {len(tune):,} validation documents are left out"
    progress.note(f"{what}: their texts stand in the training split as well")
    return tune.pick(np.flatnonzero(~copied))


def _find_label_rows(examples: Examples) -> Iterator[Finding]:
    rows = RowsPerLabel()
    for text, labels in zip(examples.texts, examples.label_sets, strict=True):
        if not rows.add(text, labels):
            break
    return rows.findings()


def pool_documents(corpus: PreparedCorpus, folds: int) -> Examples:
    """Load all documents, but for a test split that came with the corpus, to cross-validate and learn on."""
    splits = ("train", "valid") if corpus.has_given_splits else ("train", "valid", "test")
    depths = read_label_depths(corpus)
    parts = [load_examples(corpus.split(name), depths) for name in splits if len(corpus.split(name))]
    grouped = all(part.groups is not None for part in parts)
    pooled = Examples(
        [text for part in parts for text in part.texts],
        [labels for part in parts for labels in part.label_sets],
        [name for part in parts for name in part.ids],
        depths,
        [group for part in parts for group in part.groups or ()] if grouped else None,
    )
    units = len(np.unique(join_copies(pooled.texts, pooled.groups)))
    if not 2 <= folds <= units:
        raise InputError(
            f"--folds is {folds}; it must be from 2 to {units:,}, the groups or different texts there are"
        )
    return pooled


def carve_validation(examples: Examples, share: float = SHARE, seed: int = SEED) -> TrainingData:
    """Set a share of examples aside for tuning, unless a label would be lost or none of them has a label."""
    units = join_copies(examples.texts, examples.groups)
    alone = examples.groups is None and len(np.unique(units)) == len(units)
    aside = carve_documents(examples.label_sets, share, seed, None if alone else units)
    tune = examples.pick(np.flatnonzero(aside))
    if not any(tune.label_sets):
        return TrainingData(examples, examples)
    return TrainingData(examples.pick(np.flatnonzero(~aside)), tune)


def load_examples(split: Split, depths: Mapping[str, int] | None = None) -> Examples:
    """Return the documents of a split, which stay in its file; groups are held in memory."""
    texts, sets, ids = (split.store(name) for name in ("text", "labels", "id"))
    return Examples(texts, sets, ids, depths, split.groups())


def read_label_depths(corpus: PreparedCorpus) -> dict[str, int]:
    """Return how deep each label stands in the corpus's tree of labels; nothing where it has none."""
    tree = LabelTree(corpus.facts.get("notes", {}).get("tree") or {})
    return {label: tree.depth(label) for label in tree.parents}
