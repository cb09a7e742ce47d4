"""What the linear baselines have in common in use: TF-IDF features in, scores and reasons out.

Shapes: N documents, F terms, L labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.baselines.evidence import linear_shares
from seq2set.config import Config
from seq2set.evidence import heaviest_words
from seq2set.features import TfidfFeatures
from seq2set.predictions import Evidence, Inference, Request, Scores, decide, deciding_rule, withhold
from seq2set.rules import Rule
from seq2set.tagger import Parts
from seq2set.vocabulary import Labels, Words


class Common(NamedTuple):
    """The values that every linear baseline begins with."""

    config: Config
    features: TfidfFeatures
    labels: Labels
    rule: Rule
    c: float

    @classmethod
    def of(cls, parts: Parts) -> Common:
        """Read them back from a model that was taken apart."""
        settings, tensors = parts.config.features, parts.tensors
        terms, idf = tensors["features.terms"], tensors["features.idf"]
        features = TfidfFeatures(parts.words, settings.ngrams, settings.sublinear, terms, idf)
        return cls(
            parts.config, features, parts.labels, Rule.from_dict(parts.facts["rule"]), parts.facts["c"]
        )


@dataclass(frozen=True)
class LinearTagger(ABC):
    """A trained linear baseline; what it is made of is its subclass's business."""

    config: Config
    features: TfidfFeatures
    labels: Labels
    rule: Rule
    c: float

    @abstractmethod
    def scores(self, features: csr_matrix) -> Scores:
        """Return every label's probability for every document: (N, F) -> (N, L)."""

    @abstractmethod
    def label_weights(self, vector: csr_matrix, label: int) -> npt.NDArray[np.float32]:
        """Return what each term of one document (1, F) speaks for a label: (F,)."""

    @abstractmethod
    def own_tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that only this model has."""

    @abstractmethod
    def own_facts(self) -> dict[str, Any]:
        """Return the findings of training that only this model has, as plain JSON."""

    @property
    def words(self) -> Words:
        """The words it knows."""
        return self.features.words

    def infer(self, texts: Sequence[str], request: Request) -> Inference:
        """Score every label by its probability and choose by the rule, the best first."""
        matrix = self.features.transform(texts)
        scores = self.scores(matrix)
        known = self.features.has_words(matrix)
        chosen = withhold(decide(scores, self.rule, request), known, request)
        evidence = self._evidence(texts, matrix, chosen, request.words_a_label) if request.explain else None
        rule = deciding_rule(self.rule, request, len(self.labels))
        return Inference(scores, chosen, evidence, rule, known)

    def _evidence(
        self, texts: Sequence[str], matrix: csr_matrix, chosen: Sequence[npt.NDArray[np.intp]], most: int
    ) -> list[list[tuple[Evidence, ...]]]:
        rows = enumerate(zip(texts, chosen, strict=True))
        return [self._reasons(text, matrix[row], labels, most) for row, (text, labels) in rows]

    def _reasons(
        self, text: str, vector: csr_matrix, labels: npt.NDArray[np.intp], most: int
    ) -> list[tuple[Evidence, ...]]:
        spans = self.words.encode_with_spans(text).spans
        weights = (self.label_weights(vector, int(label)) for label in labels)
        shares = (linear_shares(text, self.features, one) for one in weights)
        return [heaviest_words(text, spans, share, most) for share in shares]

    def parts(self) -> Parts:
        """Take the model apart for saving."""
        terms: dict[str, npt.NDArray[Any]] = {
            "features.terms": self.features.terms,
            "features.idf": self.features.idf,
        }
        facts = {"rule": self.rule.to_dict(), "c": self.c, **self.own_facts()}
        return Parts(self.config, self.words, self.labels, {**self.own_tensors(), **terms}, facts)
