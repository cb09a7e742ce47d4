"""One linear classifier a label, in use.

Shapes: N documents, F terms, L labels, K of them with weights.

Why a linear model gives a label: each term's share of the margin, laid on the words it covers.

What the linear baselines have in common in use: TF-IDF features in, scores and reasons out.

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

from seq2set.config import Config
from seq2set.labels.labels import Labels
from seq2set.labels.rules import Rule
from seq2set.models.predictions import (
    Evidence,
    Inference,
    Request,
    Scores,
    decide,
    deciding_rule,
    heaviest_words,
    withhold,
)
from seq2set.models.tagger import ModelState
from seq2set.text.tfidf import TfidfFeatures, find_occurrences
from seq2set.text.vocabulary import Words

Reals = npt.NDArray[np.float32]


@dataclass(frozen=True)
class LinearScorer:
    """The weights of the labels: a margin is positive where the classifier says yes.

    Where there are fewer weights than labels, the last labels have their bias alone, in every document.
    """

    weights: Reals  # (F, K)
    bias: Reals  # (L,)

    def margins(self, features: csr_matrix) -> Reals:
        """Return every label's signed distance for every document: (N, L)."""
        weighed = features @ self.weights  # (N, F) x (F, K) -> (N, K)
        if missing := len(self.bias) - weighed.shape[1]:
            weighed = np.pad(weighed, ((0, 0), (0, missing)))  # (N, K) -> (N, L)
        return np.asarray(weighed + self.bias, dtype=np.float32)


def linear_shares(
    text: str, features: TfidfFeatures, weights: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Return each word's share (T,) of what speaks for a label; a word that speaks against it has none.

    A term's contribution to the margin is shared by its occurrences, and an occurrence's by its words.
    """
    laid = np.maximum(_place_weights(text, features, weights), 0)
    return np.asarray(laid / max(laid.sum(), np.finfo(np.float64).tiny), np.float64)


def _place_weights(
    text: str, features: TfidfFeatures, weights: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    vector = features.transform([text])
    contribution = np.zeros(len(features))
    contribution[vector.indices] = vector.data * weights[vector.indices]
    found = find_occurrences(features.words.flat_encode([text]), len(features.words), features.ngrams)
    column = features.columns(found.code)
    known = column >= 0
    column, place, width = column[known], found.place[known], found.width[known]
    times = np.bincount(column, minlength=len(features))
    share = contribution[column] / times[column] / width
    laid = np.zeros(len(features.words.spans(text)))
    for step in range(features.ngrams):
        covers = width > step
        np.add.at(laid, place[covers] + step, share[covers])
    return laid


class Common(NamedTuple):
    """The values that every linear baseline begins with."""

    config: Config
    features: TfidfFeatures
    labels: Labels
    rule: Rule
    c: float

    @classmethod
    def of(cls, state: ModelState) -> Common:
        """Read them back from a model that was taken apart."""
        settings, tensors = state.config.features, state.tensors
        terms, idf = tensors["features.terms"], tensors["features.idf"]
        features = TfidfFeatures(state.words, settings.ngrams, settings.sublinear, terms, idf)
        return cls(
            state.config, features, state.labels, Rule.from_dict(state.fitted["rule"]), state.fitted["c"]
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
    def decodes(self) -> bool:
        """No: there is nothing to search."""
        return False

    def rule_decides(self, request: Request) -> bool:  # noqa: ARG002 (whatever is asked for)
        """Yes: a rule always does."""
        return True

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
        evidence = self._evidence(texts, matrix, chosen, request.words_per_label) if request.explain else None
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
        spans = self.words.spans(text)
        weights = (self.label_weights(vector, int(label)) for label in labels)
        shares = (linear_shares(text, self.features, one) for one in weights)
        return [heaviest_words(text, spans, share, most) for share in shares]

    def state(self) -> ModelState:
        """Return what is saved of it."""
        terms: dict[str, npt.NDArray[Any]] = {
            "features.terms": self.features.terms,
            "features.idf": self.features.idf,
        }
        facts = {"rule": self.rule.to_dict(), "c": self.c, **self.own_facts()}
        return ModelState(self.config, self.words, self.labels, {**self.own_tensors(), **terms}, facts)
