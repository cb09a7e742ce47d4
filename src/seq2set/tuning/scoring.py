"""Documents to tune a decision rule on, as a model scores them.

Shapes: N documents, L labels that the model knows, U labels of the split that it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.errors import CorpusError, InputError
from seq2set.evaluation import BATCH
from seq2set.metrics import Counts
from seq2set.predictions import Request, Scores, withhold_scores
from seq2set.predictor import Predictor
from seq2set.progress import Progress
from seq2set.rules import Rule
from seq2set.seen_texts import Digests, Documents, SeenTexts, select_unseen
from seq2set.tagger import Tagger
from seq2set.training_corpus import TrainedOn, corpus_of, is_own, open_own
from seq2set.workflows import changed_since, measurable, training_examples


class Material(NamedTuple):
    """The documents to tune on, and their names for the model card."""

    data: str
    split: str
    part: Documents
    digests: Digests
    remarks: list[str]
    """What is to be known of them"""
    own: bool = False
    """Whether they are those that the training validated on."""


class Scored(NamedTuple):
    """What a model thinks of documents, and what is right."""

    scores: Scores  # (N, L), -inf in documents of which the model knows no word
    right: csr_matrix  # (N, L + U)
    names: tuple[str, ...]
    """Of the L + U labels"""

    def counts(self, rule: Rule) -> Counts:
        """Count what a rule gives; labels that the model does not know are misses, as for `evaluate`."""
        return Counts.of_known(rule.given(self.scores), self.right)


def material(
    predictor: Predictor,
    trained: TrainedOn,
    seen: SeenTexts,
    data: str | None,
    split: str | None,
    progress: Progress,
) -> Material:
    """Open what to tune on: a split, by default valid, of the model's own corpus or another one, or a file.

    Another plain file is taken whole where no split of it is named. Documents that the model was trained
    on are left out: what it knows by heart does not show where a threshold should lie.
    """
    named, split, part, fingerprint, own, remarks = _opened(trained, data, split, progress)
    changed = changed_since(predictor.about, named, fingerprint)
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
    return Material(named, split, chosen.part, chosen.digests, said, validated_on)


class _Opened(NamedTuple):
    name: str
    split: str
    part: Documents
    fingerprint: str
    own: bool
    remarks: Sequence[str] = ()
    """What is to be known of the corpus and was not said yet"""


def _opened(trained: TrainedOn, data: str | None, split: str | None, progress: Progress) -> _Opened:
    own = data is None or is_own(trained, data)
    if data and not own and split is None and Path(data).is_file():
        whole = measurable(trained, data, None)
        return _Opened(whole.corpus, whole.split, whole.part, whole.fingerprint, own, whole.remarks)
    another = trained.data.model_copy(update={"corpus": data})
    corpus = open_own(trained, data) if own else corpus_of(another)
    if own and split in (None, "valid"):
        # Without a validation split, these are the documents that the training set aside, the same again.
        aside = training_examples(corpus, progress)[1]
        return _Opened(corpus.name, "valid", aside, corpus.fingerprint, own)
    part = corpus.split(split or "valid")
    if not len(part):
        raise CorpusError(
            f"the split '{part.name}' is empty, so there is nothing to tune on; prepare the corpus with one "
            "(seq2set data prepare --valid 0.1), or name a file with --data, which is taken whole",
            corpus.folder,
        )
    return _Opened(corpus.name, part.name, part, corpus.fingerprint, own, corpus.remarks)


def scored(tagger: Tagger, part: Documents, search: str, progress: Progress) -> Scored:
    """Score every document once."""
    labels, scores, sets = tagger.labels.with_unseen(part.labels()), [], []
    with progress.stage("score", len(part)) as advance:
        for documents in part.iter_batches(BATCH):
            answer = tagger.infer([document.text for document in documents], Request(search=search))
            if answer.rule is None:
                raise InputError(f"search is '{search}', which needs no rule; only 'marginal' can have one")
            scores.append(withhold_scores(answer.scores, answer.known))
            sets += [document.labels for document in documents]
            advance(len(documents))
    return Scored(np.concatenate(scores), labels.indicator(sets), labels.names)
