"""Documents to tune a decision rule on, as a model scores them.

Shapes: N documents, L labels that the model knows, U labels of the split that it does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.config import Config
from seq2set.errors import CorpusError, InputError
from seq2set.evaluation import BATCH, Labelled, with_unseen
from seq2set.metrics import Counts
from seq2set.predictions import Request, Scores
from seq2set.progress import Progress
from seq2set.rules import Rule
from seq2set.tagger import Tagger
from seq2set.workflows import corpus_of, measurable, own_corpus, training_examples


class Material(NamedTuple):
    """The documents to tune on, and their names for the model card."""

    data: str
    split: str
    part: Labelled
    own: bool = False
    """Whether they are those that the training validated on."""


class Scored(NamedTuple):
    """What a model thinks of documents, and what is right."""

    scores: Scores  # (N, L)
    right: csr_matrix  # (N, L + U)

    @property
    def known(self) -> csr_matrix:
        """What is right of the labels that the model knows, (N, L)."""
        return self.right[:, : self.scores.shape[1]]

    def metrics(self, rule: Rule) -> dict[str, float]:
        """Measure a rule; labels that the model does not know are misses, as they are for `evaluate`."""
        unknown = self.right.shape[1] - self.scores.shape[1]
        return Counts.of(np.pad(rule.given(self.scores), ((0, 0), (0, unknown))), self.right).metrics()


def material(config: Config, data: str | None, split: str, progress: Progress) -> Material:
    """Open what to tune on: a split of the model's own corpus or of another one, or the whole of a file."""
    if data and Path(data).is_file():
        return Material(*measurable(config.data, data, split))
    another = config.data.model_copy(update={"corpus": data})
    corpus = corpus_of(another) if data else own_corpus(config.data)
    if not data and split == "valid":
        # Without a validation split, these are the documents that the training set aside, the same again.
        return Material(corpus.name, split, training_examples(corpus, config.seed, progress)[1], own=True)
    part = corpus.split(split)
    if not len(part):
        raise CorpusError(
            f"the split '{split}' is empty, so there is nothing to tune on; prepare the corpus with one "
            "(seq2set data prepare --valid 0.1), or name a file with --data, which is taken whole",
            corpus.folder,
        )
    return Material(corpus.name, split, part)


def scored(tagger: Tagger, part: Labelled, search: str, progress: Progress) -> Scored:
    """Score every document once."""
    labels, scores, sets = with_unseen(tagger.labels, part), [], []
    with progress.stage("score", len(part)) as advance:
        for documents in part.iter_batches(BATCH):
            answer = tagger.infer([document.text for document in documents], Request(search=search))
            if answer.rule is None:
                raise InputError(f"search is '{search}', which needs no rule; only 'marginal' can have one")
            scores.append(answer.scores)
            sets += [document.labels for document in documents]
            advance(len(documents))
    return Scored(np.concatenate(scores), labels.indicator(sets))
