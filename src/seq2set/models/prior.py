"""The linear model behind the prior, in use: TF-IDF features and one classifier a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.baselines.evidence import linear_shares
from seq2set.baselines.linear import LinearScorer, Reals
from seq2set.features import TfidfFeatures


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

    def margins(self, texts: Sequence[str]) -> Reals:
        """Return every label's margin for every text: (N, L)."""
        return self.read(texts).margins

    def read(self, texts: Sequence[str]) -> PriorReading:
        """Return every label's margin for every text, and whether a word of it is known."""
        features = self.features.transform(texts)
        return PriorReading(self.scorer.margins(features), self.features.has_words(features))

    def shares(self, text: str, label: int) -> npt.NDArray[np.float64]:
        """Return each word's share (T,) of what speaks for a label; none for one without a classifier."""
        terms, classifiers = self.scorer.weights.shape
        weights = self.scorer.weights[:, label] if label < classifiers else np.zeros(terms, np.float32)
        return linear_shares(text, self.features, weights)
