"""What is asked of a model and what it answers: requests, decisions by a rule, suggestions with evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config.catalog import SEARCHES
from seq2set.core.errors import InputError
from seq2set.core.names import find_named
from seq2set.labels.confidence.acceptance import Acceptance, Mark
from seq2set.labels.rules import Rule, make_global_rule, make_top_rule

if TYPE_CHECKING:
    from seq2set.models.tagger import Tagger
    from seq2set.text.reasons import Evidence  # loads the tokeniser, which a server's front does without

Scores = npt.NDArray[np.float32]

NO_KNOWN_WORDS = "no known words"
"""The note on a text in which the model knows no word: its scores rest on nothing in the text."""


class Suggestion(NamedTuple):
    """One label that a model gives, with its score and, where asked for, the words for and against it."""

    label: str
    score: float
    evidence: tuple[Evidence, ...] = ()
    against: tuple[Evidence, ...] = ()
    mark: Mark | None = None
    """Whether it may be accepted without a look, where the model has been tested for that"""

    def list_reasons(self, digits: int | None = 6) -> dict[str, list[dict[str, Any]]]:
        """Return the words for and against it as plain JSON, the weights rounded."""
        parts = {"evidence": self.evidence, "against": self.against}
        return {name: [one.to_dict(digits) for one in words] for name, words in parts.items()}


class Inference(NamedTuple):
    """A model's answer for a batch of texts: N documents, L labels."""

    scores: Scores  # (N, L), each in [0, 1]
    chosen: list[npt.NDArray[np.intp]]
    """Each text's labels, in the order in which the model gives them."""
    evidence: list[list[tuple[Evidence, ...]]] | None = None
    """For each chosen label the words for it, then those against it, where asked for."""
    rule: Rule | None = None
    """The rule that chose; none where a search found the sets by itself."""
    known: npt.NDArray[np.bool_] | None = None
    """Whether the model knows a word of what it reads of each text, (N,); none where it cannot tell"""
    calibrated: bool = False
    """Whether the scores are probabilities"""
    acceptance: Acceptance | None = None
    """What may be accepted without a look by these scores"""
    margins: Scores | None = None
    """(N, L) of the linear prior, of a model that has one"""

    def notes(self) -> list[str | None]:
        """Return what there is to say of each text beside its labels."""
        known = [True] * len(self.chosen) if self.known is None else self.known.tolist()
        return [None if one else NO_KNOWN_WORDS for one in known]

    def suggestions(self, names: Sequence[str]) -> list[tuple[Suggestion, ...]]:
        """Convert chosen indices to labels."""
        return [self._to_suggestions(row, names) for row in range(len(self.chosen))]

    def _to_suggestions(self, row: int, names: Sequence[str]) -> tuple[Suggestion, ...]:
        labels = self.chosen[row]
        reasons = self.evidence[row] if self.evidence else [()] * len(labels)
        return tuple(
            Suggestion(
                names[label], float(self.scores[row, label]), *_split_signs(words), self._mark(row, label)
            )
            for label, words in zip(labels, reasons, strict=True)
        )

    def _mark(self, row: int, label: np.intp) -> Mark | None:
        if self.acceptance is None:
            return None
        known = self.known is None or self.known[row]
        return self.acceptance.mark(int(label), float(self.scores[row, label])) if known else "review"


def _split_signs(words: Sequence[Evidence]) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """Part the words for a label from those against it."""
    against = tuple(one for one in words if one.weight < 0)
    return tuple(one for one in words if not one.weight < 0), against


@dataclass(frozen=True)
class Request:
    """How a prediction is wanted; what is left open is as the model was trained."""

    threshold: float | None = None
    """The score from which on a label is given, instead of by the model's own rule."""
    max_labels: int | None = None
    """Maximum labels per text; the highest-scoring stay."""
    min_labels: int = 0
    """Minimum labels per text, even where the rule gives fewer or no word of the text is known."""
    search: str | None = None
    """How a decoder is searched: one of the catalog's; models without a decoder ignore it."""
    explain: bool = False
    """Whether to say which words speak for and against each label."""
    words_per_label: int = 8
    """How many words or phrases to name for each label, and how many against it."""
    top_k: int | None = None
    """Return the k highest-scoring labels in place of the model's rule, also where no word is known; with a
    threshold those of them that reach it. All labels where there are fewer."""
    strip_html: bool | None = None
    """Whether HTML is removed from texts as they are given; by default where the training removed it."""

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise InputError(f"threshold is {self.threshold}; it must lie in [0, 1]")
        if self.top_k is not None and self.top_k < 1:
            raise InputError(f"top_k is {self.top_k}; it must be >= 1")
        if self.search is not None:
            find_named("search", self.search, SEARCHES)
        if self.min_labels < 0:
            raise InputError(f"min_labels is {self.min_labels}; it must be >= 0")
        if self.max_labels is not None and self.max_labels < max(self.min_labels, 1):
            raise InputError(
                f"max_labels is {self.max_labels}; it must be >= {max(self.min_labels, 1)}, "
                "and not below min_labels"
            )

    def count_wanted(self) -> int:
        """Return how many labels are asked for by number, which a text without a known word gets too."""
        return max(self.min_labels, self.top_k or 0 if self.threshold is None else 0)


def is_decided_by_rule(tagger: Tagger, request: Request) -> bool:
    """Say whether a rule chooses the labels of such a request, or a search by itself."""
    return not SEARCHES[tagger.find_search(request)].decides


def choose_rule(rule: Rule, request: Request, labels: int) -> Rule:
    """Return the rule that decides: the request's where it names one, or the model's."""
    if request.top_k is not None:
        return make_top_rule(min(request.top_k, labels), request.threshold)
    return rule if request.threshold is None else make_global_rule(request.threshold)


def decide(scores: Scores, rule: Rule, request: Request) -> list[npt.NDArray[np.intp]]:
    """Choose each document's labels from its scores (N, L), the best first.

    Where the rule gives more labels than are asked for, the best of them stay; where it gives fewer, the
    best of the others join them.
    """
    given = choose_rule(rule, request, scores.shape[1]).decide(scores)
    # Give the best of the other labels where fewer than `min_labels` are given.
    for row in np.flatnonzero(given.sum(axis=1) < request.min_labels):
        others = np.argsort(np.where(given[row], np.inf, -scores[row]), kind="stable")
        given[row, others[: request.min_labels - given[row].sum()]] = True
    # Only what is given is put in order: it is little, and sorting all labels would take most of the time.
    rows, labels = np.nonzero(given)
    best_first = labels[np.lexsort((-scores[rows, labels], rows))]
    ends = np.cumsum(given.sum(axis=1))
    return [row[: request.max_labels] for row in np.split(best_first, ends)[:-1]]


def withhold(
    chosen: list[npt.NDArray[np.intp]], known: npt.NDArray[np.bool_] | None, request: Request
) -> list[npt.NDArray[np.intp]]:
    """Leave a text without a known word those labels only whose number was asked for, and none by default.

    A model's bias alone can pass its rule, and a decoder always says something.
    """
    if known is None:
        return chosen
    most = request.count_wanted()
    return [row if one else row[:most] for row, one in zip(chosen, known.tolist(), strict=True)]


def withhold_scores(scores: Scores, known: npt.NDArray[np.bool_] | None) -> Scores:
    """Return scores (N, L) by which no rule gives a label to a text without a known word: all -inf.

    Rules are tuned on these, so that they are the best for what prediction gives by default.
    """
    return scores if known is None or known.all() else np.where(known[:, None], scores, np.float32(-np.inf))
