"""The model's answer to a request, from one forward pass where that is possible.

Candidates are the best labels whether they are given or not, so that a reader can move the threshold without
asking again. Their scores are marginals: the probability that a label is in the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from seq2set.config.catalog import find_scoring_search
from seq2set.inference.given_texts import infer_given
from seq2set.models.predictions import Inference, Request, Suggestion, decide, is_decided_by_rule, withhold

if TYPE_CHECKING:  # the front has no model
    from seq2set.models.tagger import Tagger

INTERNAL = "internal error; see the server log"
"""What a client is told of a fault that is not its own."""


@dataclass(frozen=True)
class LabelRequest(Request):
    """What a client asks of the model; texts of equal requests can share a forward pass."""

    candidates: int | None = None
    """How many of the best labels to return, given or not."""
    digits: int | None = 6
    """To how many digits after the point numbers are rounded; not at all where there is none."""


class Answer(NamedTuple):
    """The model's answer for one text."""

    labels: tuple[Suggestion, ...]
    candidates: tuple[Suggestion, ...] | None = None
    """The best labels first, then those that are given and not among the best."""
    note: str | None = None
    """What there is to say beside the labels."""

    def to_dict(self, request: LabelRequest) -> dict[str, Any]:
        """Return the answer as plain JSON; what was not asked for is left out."""
        plain: dict[str, Any] = {"labels": [_convert(one, request) for one in self.labels]}
        if self.candidates is not None:
            given = {one.label for one in self.labels}
            plain["candidates"] = [_convert_candidate(one, request, given) for one in self.candidates]
        return plain | ({"note": self.note} if self.note else {})


def _convert(one: Suggestion, request: LabelRequest) -> dict[str, Any]:
    score = one.score if request.digits is None else round(one.score, request.digits)
    plain: dict[str, Any] = {"label": one.label, "score": score}
    if one.mark is not None:
        plain["mark"] = one.mark
    if request.explain:
        plain |= one.list_reasons(request.digits)
    return plain


def _convert_candidate(one: Suggestion, request: LabelRequest, given: set[str]) -> dict[str, Any]:
    # Only labels that the model gives were tested for what may be accepted.
    mark = one.mark if one.label in given or one.mark is None else "review"
    return _convert(one._replace(mark=mark), request) | {"given": one.label in given}


class Answerer:
    """Answers the texts of equal requests; opening it runs the model once, to make the first one quick."""

    def __init__(self, tagger: Tagger):
        self.tagger = tagger
        tagger.infer([""], Request())

    def __call__(self, texts: Sequence[str], request: LabelRequest) -> list[Answer]:
        """Answer each text."""
        names = self.tagger.labels.names
        if request.candidates is None:
            found = infer_given(self.tagger, texts, request)
            return [
                Answer(one, note=note)
                for one, note in zip(found.suggestions(names), found.notes(), strict=True)
            ]
        # The best labels, whatever their scores.
        most = max(request.candidates, request.min_labels)
        search = find_scoring_search(self.tagger.find_search(request))
        widened = replace(request, threshold=0.0, top_k=None, max_labels=most, search=search)
        wide = infer_given(self.tagger, texts, widened)
        given = self._decide(texts, request, wide)
        return [
            Answer(labels, _join(best, labels), note)
            for labels, best, note in zip(given, wide.suggestions(names), wide.notes(), strict=True)
        ]

    def _decide(
        self, texts: Sequence[str], request: Request, wide: Inference
    ) -> list[tuple[Suggestion, ...]]:
        """Return the labels that are given; what the wide pass cannot tell is asked of the model again."""
        names = self.tagger.labels.names
        if not is_decided_by_rule(self.tagger, request):
            return infer_given(self.tagger, texts, request).suggestions(names)
        chosen = withhold(decide(wide.scores, self.tagger.rule, request), wide.known, request)
        given = wide._replace(chosen=chosen, evidence=None).suggestions(names)
        return self._explain(texts, request, given, wide) if request.explain else given

    def _explain(
        self, texts: Sequence[str], request: Request, given: Sequence[Sequence[Suggestion]], wide: Inference
    ) -> list[tuple[Suggestion, ...]]:
        """Take the evidence from the wide pass; a rule with a threshold per label may give others, too."""
        names = self.tagger.labels.names
        known = [{one.label: one for one in best} for best in wide.suggestions(names)]
        lacking = [
            row for row, labels in enumerate(given) if any(one.label not in known[row] for one in labels)
        ]
        again = infer_given(self.tagger, [texts[row] for row in lacking], request) if lacking else None
        for row, labels in zip(lacking, again.suggestions(names) if again else (), strict=True):
            known[row] |= {one.label: one for one in labels}
        return [tuple(known[row][one.label] for one in labels) for row, labels in enumerate(given)]


def _join(best: Sequence[Suggestion], given: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
    among = {one.label for one in best}
    return (*best, *(one for one in given if one.label not in among))
