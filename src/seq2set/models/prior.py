"""The linear model behind the prior in use: TF-IDF features and one classifier per label.

Only the most frequent labels have a classifier; every other label has one margin for all documents. How it is
fitted stands in `training.fitted_prior`.

Shapes: N documents, F terms, L labels, K of them with a classifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.catalog import find_model
from seq2set.core.tensor_files import Forms
from seq2set.models.linear.scorer import LinearScorer, Reals, attribute_words, list_scorer_forms
from seq2set.models.linear.tagger import list_feature_forms, restore_features
from seq2set.models.tagger import ModelState, Outline
from seq2set.nn.pretrained.vector_features import VectorFeatures
from seq2set.text.tfidf import TfidfFeatures
from seq2set.text.vocabulary import FlatIds

PRIOR_WEIGHTS = "prior/weights"
"""The tensor that is most of many a model, and of which a text needs some rows"""

FOLD_SEED = 1
"""Draws folds. It is none of a run's seeds, so that one training of a linear model stands for all of them."""


def has_prior(config: Config) -> bool:
    """Say whether there is a linear prior: the set decoder's option, which the baselines do not have."""
    return config.prior.enabled and find_model(config.model).family == "set"


class PriorReading(NamedTuple):
    """What the prior makes of texts."""

    margins: Reals
    """Every label's margin for every text, (N, L)"""
    known: npt.NDArray[np.bool_]
    """Whether it knows a word of each text, (N,)"""


@dataclass(frozen=True)
class PriorModel:
    """A fitted linear model; the most frequent labels have a classifier, the rest a margin that stays."""

    features: TfidfFeatures
    scorer: LinearScorer

    @classmethod
    def from_state(cls, state: ModelState) -> PriorModel:
        """Restore from a saved state."""
        scorer = LinearScorer.from_tensors(state.tensors, "prior/")
        if scorer.weights.shape[1] > len(state.labels):
            raise ValueError("the prior has more classifiers than there are labels")
        return cls(restore_features(state, "prior/"), scorer)

    @staticmethod
    def list_forms(outline: Outline) -> Forms:
        """Return the forms of what is saved of it."""
        return list_feature_forms(outline, "prior/") | list_scorer_forms("prior/", "F+E", "K", "L")

    def read(self, encoded: Iterable[FlatIds], texts: Sequence[str]) -> PriorReading:
        """Return every label's margin for every text, encoded in blocks, and whether a word is known."""
        features = self.features.transform_blocks(encoded)
        if isinstance(self.features, VectorFeatures):
            features = self.features.append_vectors(features, texts)
        return PriorReading(self.scorer.margins(features), self.features.has_words(features))

    def attributions(self, text: str, labels: Iterable[int]) -> Iterator[npt.NDArray[np.float64]]:
        """Yield what each word (T,) adds to each label's margin; nothing where there is no classifier."""
        wanted, classifiers = list(labels), self.scorer.weights.shape[1]

        def weigh(terms: npt.NDArray[np.int32]) -> Iterator[Reals]:
            rows, nothing = self.scorer.weights[terms], np.zeros(len(terms), np.float32)
            yield from (rows[:, one] if one < classifiers else nothing for one in wanted)

        return attribute_words(text, self.features, weigh)


def fold_documents(
    folds: int, documents: int, seed: int, groups: Sequence[str] | None = None
) -> npt.NDArray[np.int64]:
    """Return the fold of each document: all as large as can be, and none with a part of a group."""
    generator = np.random.default_rng(seed)
    if groups is None or len(set(groups)) < 2:
        return generator.permutation(documents) % min(folds, documents)
    return fold_groups(folds, groups, generator)


def fold_groups(folds: int, groups: npt.ArrayLike, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the fold of each document, where all documents of a group have the same one."""
    _, of_document, sizes = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    order = generator.permutation(len(sizes))
    # The largest first, each to the smallest fold: what comes last evens the folds out.
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold, filled = np.zeros(len(sizes), np.int64), np.zeros(min(folds, len(sizes)), np.int64)
    for group in order:
        fold[group] = filled.argmin()
        filled[fold[group]] += sizes[group]
    return fold[of_document]
