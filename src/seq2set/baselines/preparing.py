"""The examples as matrices, for all linear baselines alike."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.config import Config
from seq2set.features import TfidfFeatures, encoded_blocks
from seq2set.progress import Progress
from seq2set.tagger import Examples
from seq2set.vocabulary import Labels, Words


class Prepared(NamedTuple):
    """Features and targets of both splits; computed once for all values of C."""

    features: TfidfFeatures
    labels: Labels
    train: csr_matrix
    train_targets: csr_matrix
    valid: csr_matrix
    valid_targets: csr_matrix
    valid_actual: csr_matrix
    """The same, with the labels that `train` does not have behind the others"""
    valid_known: npt.NDArray[np.bool_]
    """Whether a word of each is known"""


def prepare(
    config: Config, train: Examples, valid: Examples, progress: Progress, most_terms: int | None = None
) -> Prepared:
    """Find words, labels and terms in `train`, and turn both splits into matrices.

    Where there are more than `most_terms`, those that occur in the most documents are kept.
    """
    with progress.stage("features", 4) as advance:
        labels = Labels.build(train.label_sets)
        words = Words.build(train.texts, **config.text.model_dump())
        advance(1)
        encoded = list(encoded_blocks(words, train.texts))
        features = TfidfFeatures.fit(words, encoded, **config.features.model_dump())
        if most_terms is not None and len(features) > most_terms:
            progress.note(f"the {most_terms:,} most frequent of {len(features):,} terms are kept")
            features = _cut(features, most_terms)
        advance(1)
        train_matrix = features.transform_blocks(encoded)
        advance(1)
        valid_matrix = features.transform(valid.texts)
        advance(1)
    return Prepared(
        features,
        labels,
        train_matrix,
        labels.indicator(train.label_sets),
        valid_matrix,
        labels.indicator(valid.label_sets),
        labels.with_unseen(valid.label_sets).indicator(valid.label_sets),
        features.has_words(valid_matrix),
    )


def _cut(features: TfidfFeatures, most: int) -> TfidfFeatures:
    # The more documents a term occurs in, the smaller is its inverse document frequency.
    kept = np.sort(np.argsort(features.idf, kind="stable")[:most])
    return replace(features, terms=features.terms[kept], idf=features.idf[kept])
