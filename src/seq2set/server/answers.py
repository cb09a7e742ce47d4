"""What a request asks of a model, and the model's answer, from one forward pass where that is possible.

Candidates are the best labels whether they are given or not, so that a reader can move the threshold without
asking again. Their scores are marginals: the probability that a label is in the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from seq2set.models.predictions import Inference, Request, Suggestion, decide, withhold
from seq2set.models.tagger import Tagger


@dataclass(frozen=True)
class Ask:
    """How an answer is wanted; texts that ask the same can share a forward pass."""

    request: Request = field(default_factory=Request)
    candidates: int | None = None
    """So many of the best labels, given or not."""


class Candidate(NamedTuple):
    """A label with its score, and whether it is given."""

    suggestion: Suggestion
    given: bool


class Answer(NamedTuple):
    """What a model says of one text."""

    labels: tuple[Suggestion, ...]
    candidates: tuple[Candidate, ...] | None = None
    note: str | None = None
    """What there is to say beside the labels."""


class Answerer:
    """Answers texts that ask the same; opening it runs the model once, so that the first request is quick."""

    def __init__(self, tagger: Tagger):
        self.tagger = tagger
        tagger.infer([""], Request())

    def __call__(self, texts: Sequence[str], ask: Ask) -> list[Answer]:
        """Answer each text."""
        names = self.tagger.labels.names
        if ask.candidates is None:
            found = self.tagger.infer(texts, ask.request)
            return [
                Answer(one, note=note)
                for one, note in zip(found.suggestions(names), found.notes(), strict=True)
            ]
        wide = self.tagger.infer(texts, _wide(ask.request, ask.candidates))
        given = self._given(texts, ask.request, wide)
        return [
            Answer(labels, _candidates(labels, best), note)
            for labels, best, note in zip(given, wide.suggestions(names), wide.notes(), strict=True)
        ]

    def _given(self, texts: Sequence[str], request: Request, wide: Inference) -> list[tuple[Suggestion, ...]]:
        """Return the labels that are given; what the wide pass cannot tell is asked of the model again."""
        names = self.tagger.labels.names
        if not self.tagger.rule_decides(request):
            return self.tagger.infer(texts, request).suggestions(names)
        chosen = withhold(decide(wide.scores, self.tagger.rule, request), wide.known, request)
        given = Inference(wide.scores, chosen).suggestions(names)
        return self._explained(texts, request, given, wide) if request.explain else given

    def _explained(
        self,
        texts: Sequence[str],
        request: Request,
        given: Sequence[Sequence[Suggestion]],
        wide: Inference,
    ) -> list[tuple[Suggestion, ...]]:
        """Take the evidence from the wide pass; a rule with a threshold a label may give others, too."""
        names = self.tagger.labels.names
        known = [{one.label: one for one in best} for best in wide.suggestions(names)]
        lacking = [
            row for row, labels in enumerate(given) if any(one.label not in known[row] for one in labels)
        ]
        again = self.tagger.infer([texts[row] for row in lacking], request) if lacking else None
        for row, labels in zip(lacking, again.suggestions(names) if again else (), strict=True):
            known[row] |= {one.label: one for one in labels}
        return [tuple(known[row][one.label] for one in labels) for row, labels in enumerate(given)]


def _wide(request: Request, candidates: int) -> Request:
    """Ask for the best labels, whatever their scores."""
    most = max(candidates, request.min_labels)
    return replace(request, threshold=0.0, top_k=None, max_labels=most, search="marginal")


def _candidates(given: Sequence[Suggestion], best: Sequence[Suggestion]) -> tuple[Candidate, ...]:
    """Mark what is given; what is given but not among the best follows them."""
    chosen, among = {one.label for one in given}, {one.label for one in best}
    others = [one for one in given if one.label not in among]
    return tuple(Candidate(one, one.label in chosen) for one in (*best, *others))
