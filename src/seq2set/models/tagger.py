"""The contract that every model keeps, whatever it is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.catalog import find_model
from seq2set.core.names import load_named
from seq2set.core.tensor_files import Forms
from seq2set.corpora.documents import ColumnView, Document
from seq2set.labels.confidence.acceptance import Confidence
from seq2set.labels.labels import Labels
from seq2set.labels.lessons import Lessons
from seq2set.labels.rules import Rule
from seq2set.models.predictions import Inference, Request
from seq2set.text.cut_texts import Cut
from seq2set.text.vocabulary import Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Tensors = Mapping[str, npt.NDArray[Any]]
Value = TypeVar("Value")


@dataclass(frozen=True)
class ModelState:
    """What is saved of a model: plain values that are written to files and read back without running code."""

    config: Config
    words: Words
    labels: Labels
    tensors: Tensors
    fitted: Mapping[str, Any]
    """Values that training found, such as the tuned rule; plain JSON."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts of further files of the model folder, by name"""


class Outline(NamedTuple):
    """What is known of a saved model before its numbers are read."""

    config: Config
    words: int
    labels: int
    fitted: Mapping[str, Any]


class Tagger(Protocol):
    """A trained model: texts in, scored labels out."""

    @property
    def config(self) -> Config:
        """The settings that it was trained with."""

    @property
    def words(self) -> Words:
        """The words it knows, and how it finds them in a text."""

    @property
    def labels(self) -> Labels:
        """The labels it can give."""

    @property
    def rule(self) -> Rule:
        """The rule by which its scores become a set of labels, unless a request says otherwise."""

    @property
    def decodes(self) -> bool:
        """Whether it has a decoder, so that a request's search makes a difference."""

    @property
    def confidence(self) -> Confidence:
        """How its scores become probabilities, and which labels may be accepted without a look."""

    def find_search(self, request: Request) -> str:
        """Return the name of the search that such a request uses; `SCORING` where there is no decoder."""

    def with_confidence(self, confidence: Confidence, rule: Rule) -> Tagger:
        """Return the same model with other probabilities, and a rule that fits them."""

    def infer(self, texts: Sequence[str], request: Request) -> Inference:
        """Score and choose labels for each text."""

    def state(self) -> ModelState:
        """Return what is saved of it."""

    @classmethod
    def from_state(cls, state: ModelState) -> Tagger:
        """Restore a model from a saved state."""


class Examples:
    """Texts with their label sets, as a model learns from them; those of a corpus stay in its files."""

    def __init__(
        self,
        texts: Sequence[str],
        label_sets: Sequence[Sequence[str]],
        ids: Sequence[str] | None = None,
        depths: Mapping[str, int] | None = None,
        groups: Sequence[str] | None = None,
        weights: npt.ArrayLike | None = None,
        lessons: Lessons | None = None,
    ):
        assert len(texts) == len(label_sets)
        self.texts, self.label_sets = _hold(texts), _hold_sets(label_sets)
        self.ids = _hold(ids if ids is not None else [str(number) for number in range(1, len(texts) + 1)])
        self.depths = dict(depths or {})
        """How deep each label stands in the corpus's label tree, where it has one."""
        self.groups = None if groups is None else list(groups)
        """Which texts belong together, such as packages of one source; None where nothing is known of it."""
        self.weights = None if weights is None else np.array(weights, np.float64)
        """How much each text counts in what a linear model minimises; None where all count the same."""
        self.lessons = lessons
        """What a teacher says of them, to be learnt instead of the label sets"""

    def __len__(self) -> int:
        return len(self.texts)

    def pick(self, index: npt.NDArray[np.intp]) -> Examples:
        """Return the examples at the given places."""
        texts, ids = (_pick(column, index) for column in (self.texts, self.ids))
        groups = None if self.groups is None else _pick(self.groups, index)
        weights = None if self.weights is None else self.weights[index]
        lessons = None if self.lessons is None else self.lessons.pick(index)
        return Examples(texts, _pick(self.label_sets, index), ids, self.depths, groups, weights, lessons)

    def count_labelled(self) -> int:
        """Return how many examples, the first ones, have labels that a person gave."""
        return len(self) if self.lessons is None else self.lessons.labelled

    def targets(self, labels: Labels) -> csr_matrix[Any]:
        """Return what is to be learnt of each label (N, L): whether a text has it, or how likely it is."""
        return labels.indicator(self.label_sets) if self.lessons is None else self.lessons.targets(labels)

    def iter_labels(self) -> Iterator[Sequence[str]]:
        """Yield the label set of each example."""
        return iter(self.label_sets)

    def digest(self) -> str:
        """Return a text that differs where anything of an example, or the order, differs."""
        seen = hashlib.sha256(json.dumps([sorted(self.depths.items()), self.groups]).encode())
        for row in zip(self.ids, self.texts, self.label_sets, strict=True):
            seen.update(json.dumps(row).encode())
        if self.weights is not None:
            seen.update(self.weights.tobytes())
        if self.lessons is not None:
            seen.update(self.lessons.digest().encode())
        return seen.hexdigest()

    def iter_batches(self, size: int) -> Iterator[list[Document]]:
        """Give the examples as documents in batches."""
        documents = map(Document, self.ids, self.texts, map(tuple, self.label_sets))
        while batch := list(islice(documents, size)):
            yield batch


def _hold(values: Sequence[Value]) -> Sequence[Value]:
    """Keep values as they are now; those of a file stay there."""
    return values if isinstance(values, ColumnView) else list(values)


def _hold_sets(sets: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    return sets if isinstance(sets, ColumnView) else [tuple(one) for one in sets]


def _pick(values: Sequence[Value], index: npt.NDArray[np.intp]) -> Sequence[Value]:
    return values.pick(index) if isinstance(values, ColumnView) else [values[i] for i in index]


def compute_fingerprint(*parts: Examples) -> str:
    """Return a short text that differs where the examples, or the part that they stand in, differ."""
    return hashlib.sha256("".join(part.digest() for part in parts).encode()).hexdigest()[:16]


def get_tagger_class(model: str) -> type[Tagger]:
    """Return the class that restores a saved model of this name."""
    found: type[Tagger] = load_named(find_model(model).tagger)
    return found


def list_forms(outline: Outline, runtime: str) -> Forms | None:
    """Return the names, types and shapes of the numbers that are saved of a model.

    Its class says them in a method of this name, in which the letter L stands for the number of labels; None
    where it has none.
    """
    own = getattr(get_tagger_class(outline.config.model), "list_forms", None)
    found: Forms | None = None if own is None else own(outline, runtime)
    return found


def get_fit_function(model: str) -> Callable[..., Tagger]:
    """Return the function that trains a model of this name."""
    found: Callable[..., Tagger] = load_named(find_model(model).fit)
    return found


def count_cut_texts(tagger: Tagger, texts: Sequence[str]) -> Cut:
    """Count the texts that a model does not read to their end; one that does not say reads all of them."""
    count = getattr(tagger, "count_cut", None)
    return count(texts) if count else Cut()
