"""Binary relevance (BR): one linear classifier a label on TF-IDF features.

The paper's first baseline, and an honest one: its C and its decision threshold are tuned on the
validation split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seq2set.baselines.evidence import linear_shares
from seq2set.baselines.linear import LinearScorer
from seq2set.calibration import Sigmoid
from seq2set.config import Config
from seq2set.evidence import heaviest_words
from seq2set.features import TfidfFeatures
from seq2set.predictions import Evidence, Inference, Request, decide
from seq2set.tagger import Parts
from seq2set.vocabulary import Labels, Words


@dataclass(frozen=True)
class BinaryRelevance:
    """A trained BR model."""

    config: Config
    features: TfidfFeatures
    labels: Labels
    scorer: LinearScorer
    sigmoid: Sigmoid
    threshold: float
    c: float

    @property
    def words(self) -> Words:
        """The words it knows."""
        return self.features.words

    def infer(self, texts: Sequence[str], request: Request) -> Inference:
        """Score every label by its probability and choose the likeliest, the best first."""
        scores = self.sigmoid(self.scorer.margins(self.features.transform(texts)))
        chosen = decide(scores, self.threshold, request)
        evidence = self._evidence(texts, chosen, request.words_a_label) if request.explain else None
        return Inference(scores, chosen, evidence)

    def _evidence(
        self, texts: Sequence[str], chosen: Sequence[npt.NDArray[np.intp]], most: int
    ) -> list[list[tuple[Evidence, ...]]]:
        return [self._text_evidence(text, labels, most) for text, labels in zip(texts, chosen, strict=True)]

    def _text_evidence(
        self, text: str, labels: npt.NDArray[np.intp], most: int
    ) -> list[tuple[Evidence, ...]]:
        spans, weights = self.words.encode_with_spans(text).spans, self.scorer.weights
        shares = (linear_shares(text, self.features, weights[:, label]) for label in labels)
        return [heaviest_words(text, spans, share, most) for share in shares]

    def parts(self) -> Parts:
        """Take the model apart for saving."""
        tensors: dict[str, npt.NDArray[Any]] = {
            "linear.weights": self.scorer.weights,
            "linear.bias": self.scorer.bias,
            "features.terms": self.features.terms,
            "features.idf": self.features.idf,
        }
        facts = {
            "threshold": self.threshold,
            "c": self.c,
            "sigmoid": {"slope": self.sigmoid.slope, "offset": self.sigmoid.offset},
        }
        return Parts(self.config, self.words, self.labels, tensors, facts)

    @classmethod
    def restore(cls, parts: Parts) -> BinaryRelevance:
        """Put a model together again."""
        settings, tensors, facts = parts.config.features, parts.tensors, parts.facts
        features = TfidfFeatures(
            parts.words,
            settings.ngrams,
            settings.sublinear,
            tensors["features.terms"],
            tensors["features.idf"],
        )
        scorer = LinearScorer(tensors["linear.weights"], tensors["linear.bias"])
        sigmoid = Sigmoid(**facts["sigmoid"])
        return cls(parts.config, features, parts.labels, scorer, sigmoid, facts["threshold"], facts["c"])
