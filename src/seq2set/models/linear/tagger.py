"""What the linear models share in use: TF-IDF features in, probabilities and reasons out.

A model's own file says how its scores come about. Fitting lies in `matrices`, `classifiers` and `c_search`,
so that a model in use does not load scikit-learn, which takes a second.

Shapes: N documents, F terms, L labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.catalog import SCORING
from seq2set.core.sparse import CompressedRows, SparseRows
from seq2set.core.tensor_files import TensorForm
from seq2set.labels.confidence.acceptance import Confidence
from seq2set.labels.labels import Labels
from seq2set.labels.rules import Rule
from seq2set.models.linear.scorer import Reals, attribute_words
from seq2set.models.predictions import Inference, Request, Scores, choose_rule, decide, withhold
from seq2set.models.tagger import ModelState, Outline, Tensors
from seq2set.nn.pretrained.vector_features import (
    Standard,
    count_cut_vectors,
    describe_vectors,
    restore_vectors,
)
from seq2set.text.cut_texts import Cut
from seq2set.text.reasons import Evidence, TextWords
from seq2set.text.tfidf import TfidfFeatures
from seq2set.text.vocabulary import Words


@dataclass(frozen=True)
class LinearTagger(ABC):
    """A trained linear model; a subclass says what it is made of."""

    config: Config
    features: TfidfFeatures
    labels: Labels
    rule: Rule
    c: float
    confidence: Confidence
    decodes = False  # there is nothing to search

    @abstractmethod
    def scores(self, features: CompressedRows) -> Scores:
        """Return every label's probability for every document: (N, F) -> (N, L)."""

    @abstractmethod
    def label_weights(self, vector: CompressedRows, label: int) -> npt.NDArray[np.float32]:
        """Return what each term of one document (1, F) is worth to a label: (F,)."""

    @abstractmethod
    def state(self) -> ModelState:
        """Return what is saved of it."""

    def build_state(self, tensors: Tensors, fitted: Mapping[str, Any]) -> ModelState:
        """Return a state of the arrays and findings that only this model has, with those of all."""
        facts = {"rule": self.rule.to_dict(), "c": self.c, "confidence": self.confidence.to_dict(), **fitted}
        facts |= describe_vectors(self.features)
        tensors = {**tensors, **self.features.tensors("features.")}
        return ModelState(self.config, self.words, self.labels, tensors, facts)

    def count_cut(self, texts: Sequence[str]) -> Cut:
        """Count the texts whose vectors leave words out; terms are of whole texts."""
        return count_cut_vectors(self.features, texts)

    def find_search(self, request: Request) -> str:  # noqa: ARG002 (whatever is asked for)
        """Return the name that stands for the scores of a model without a decoder."""
        return SCORING

    def with_confidence(self, confidence: Confidence, rule: Rule) -> LinearTagger:
        """Return the same model with other probabilities, and a rule that fits them."""
        return replace(self, confidence=confidence, rule=rule)

    @property
    def words(self) -> Words:
        """The words it knows."""
        return self.features.words

    def infer(self, texts: Sequence[str], request: Request) -> Inference:
        """Score every label by its probability and choose by the rule, the best first."""
        matrix = self.features.transform(texts)
        search = self.find_search(request)
        scores = self.confidence.calibrate(search, self.scores(matrix))
        known = self.features.has_words(matrix)
        chosen = withhold(decide(scores, self.rule, request), known, request)
        evidence = None
        if request.explain:
            rows, most = enumerate(zip(texts, chosen, strict=True)), request.words_per_label
            evidence = [self._explain(text, matrix[row], given.tolist(), most) for row, (text, given) in rows]
        rule = choose_rule(self.rule, request, len(self.labels))
        calibrated, accepted = search in self.confidence.calibrators, self.confidence.find_acceptance(search)
        return Inference(scores, chosen, evidence, rule, known, calibrated, accepted)

    def _explain(
        self, text: str, vector: SparseRows, labels: Sequence[int], most: int
    ) -> list[tuple[Evidence, ...]]:
        """Name the words that contribute most to each label's margin, which they add up to."""
        words = TextWords.read(self.words, text)
        contributions = attribute_words(
            text, self.features, lambda terms: (self.label_weights(vector, label)[terms] for label in labels)
        )
        return [
            words.pick_evidence(words.sum_words(added), self.labels.names[label], most)
            for label, added in zip(labels, contributions, strict=True)
        ]


class Common(NamedTuple):
    """The values that every linear model begins with."""

    config: Config
    features: TfidfFeatures
    labels: Labels
    rule: Rule
    c: float
    confidence: Confidence


def restore_common(state: ModelState) -> Common:
    """Read back from a saved state what every linear model begins with."""
    rule, features = Rule.from_dict(state.fitted["rule"]), restore_features(state, "features.")
    confidence = Confidence.from_dict(state.fitted.get("confidence"))
    return Common(state.config, features, state.labels, rule, state.fitted["c"], confidence)


def restore_features(state: ModelState, prefix: str) -> TfidfFeatures:
    """Read back the terms whose names begin with a prefix."""
    settings, tensors = state.config.features, state.tensors
    arrays = tensors[prefix + "terms"], tensors[prefix + "idf"]
    _refuse_odd_terms(*arrays)
    terms = TfidfFeatures(state.words, settings.ngrams, settings.sublinear, settings.run_weight, *arrays)
    return restore_vectors(terms, tensors, state.fitted.get("vectors"), prefix)


def _refuse_odd_terms(terms: npt.NDArray[np.int64], idf: Reals) -> None:
    """Refuse terms that could not be looked up: they are ascending numbers."""
    if len(terms) and (terms[0] < 1 or not (terms[1:] > terms[:-1]).all() or not (idf > 0).all()):
        raise ValueError("the terms are not in ascending order, or have no weight")


def list_feature_forms(outline: Outline, prefix: str) -> dict[str, TensorForm]:
    """Return the forms of what `restore_features` reads: F terms, and E numbers of a vector beside them."""
    forms = {prefix + "terms": TensorForm("I64", ("F",)), prefix + "idf": TensorForm("F32", ("F",))}
    if outline.fitted.get("vectors") is not None:
        forms |= {prefix + name: TensorForm("F32", ("E",)) for name in Standard._fields}
    return forms
