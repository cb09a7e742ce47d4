"""The documents that a trained model is tuned on: a split of its own corpus or another one, or a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seq2set.core.errors import CorpusError
from seq2set.core.progress import Progress
from seq2set.corpora.open_corpus import is_unsplit
from seq2set.corpora.prepared import Split
from seq2set.corpora.seen_texts import Digests, Documents, SeenTexts, select_unseen
from seq2set.inference.predictor import Predictor
from seq2set.workflows.evaluate import open_measured
from seq2set.workflows.train import describe_change
from seq2set.workflows.training_corpus import (
    TrainingCorpus,
    is_training_corpus,
    open_training_corpus,
    reopen_corpus,
)
from seq2set.workflows.training_data import load_training_data


class TuningDocuments(NamedTuple):
    """The documents to tune on, and their names for the model card."""

    data: str
    split: str
    part: Documents
    digests: Digests
    remarks: list[str]
    """What the user must know of them"""
    own: bool = False
    """Whether they are those that the training validated on."""
    groups: list[str] | None = None
    """Which of them belong together; None where nothing is known of it"""


def open_documents(
    predictor: Predictor,
    trained: TrainingCorpus,
    seen: SeenTexts,
    data: str | None,
    split: str | None,
    progress: Progress,
) -> TuningDocuments:
    """Open what to tune on: a split, by default valid, of the model's own corpus or another one, or a file.

    Another plain file is taken whole where no split of it is named. Documents that the model was trained
    on are left out: those that it has memorised do not show where a threshold should lie.
    """
    named, split, part, fingerprint, own, remarks = _open_source(trained, data, split, progress)
    changed = describe_change(predictor.metadata, named, fingerprint)
    if own and changed is not None and data is None:
        raise CorpusError(
            f"{changed}; put it back as it was, or name the documents to tune on with --data", named
        )
    validated_on = split == "valid" and changed is None
    chosen = select_unseen(
        part,
        seen._replace(tuned=None),
        () if validated_on else ("trained",),
        same_corpus=changed is None,
        changed=changed if own else None,
    )
    if not len(chosen.part):
        raise CorpusError(
            f"the model was trained on all {len(part):,} documents, so none is left to tune on; name others "
            "with --data",
            named,
        )
    said = [*remarks, *chosen.overlap.sentences()]
    groups = _list_groups(part, chosen.kept)
    return TuningDocuments(named, split, chosen.part, chosen.digests(), said, validated_on, groups)


def _list_groups(part: Documents, kept: np.ndarray) -> list[str] | None:
    groups = part.groups() if isinstance(part, Split) else getattr(part, "groups", None)
    return None if groups is None else [one for one, stays in zip(groups, kept, strict=True) if stays]


class _OpenedSource(NamedTuple):
    name: str
    split: str
    part: Documents
    fingerprint: str
    own: bool
    remarks: Sequence[str] = ()
    """What the user must know of the corpus and was not told yet"""


def _open_source(
    trained: TrainingCorpus, data: str | None, split: str | None, progress: Progress
) -> _OpenedSource:
    own = data is None or is_training_corpus(trained, data)
    if data and not own and split is None and is_unsplit(data):
        whole = open_measured(trained, data, None)
        return _OpenedSource(whole.corpus, whole.split, whole.part, whole.fingerprint, own, whole.remarks)
    another = trained.describe_other(data)
    corpus = reopen_corpus(trained, data) if own else open_training_corpus(another)
    if own and split in (None, "valid"):
        # Without a validation split, these are the documents that the training set aside, the same again.
        aside = load_training_data(corpus, progress)[1]
        return _OpenedSource(corpus.name, "valid", aside, corpus.fingerprint, own)
    part = corpus.split(split or "valid")
    if not len(part):
        raise CorpusError(
            f"the split '{part.name}' is empty, so there is nothing to tune on; prepare the corpus with one "
            "(seq2set data prepare --valid 0.1), or name a file with --data, which is taken whole",
            corpus.folder,
        )
    return _OpenedSource(corpus.name, part.name, part, corpus.fingerprint, own, corpus.remarks)
