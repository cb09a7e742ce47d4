"""The model's answers in the form of the API."""

from __future__ import annotations

from seq2set.predictions import Suggestion
from seq2set.server.answering import Answer
from seq2set.server.schemas import CandidateAnswer, EvidenceAnswer, LabelAnswer, TextAnswer

_DIGITS = 6


def text_answer(answer: Answer, *, explain: bool) -> TextAnswer:
    """Spell an answer out."""
    labels = [
        LabelAnswer(label=one.label, score=round(one.score, _DIGITS), evidence=_evidence(one, explain))
        for one in answer.labels
    ]
    if answer.candidates is None:
        return TextAnswer(labels=labels, note=answer.note)
    candidates = [
        CandidateAnswer(
            label=one.label, score=round(one.score, _DIGITS), evidence=_evidence(one, explain), given=given
        )
        for one, given in answer.candidates
    ]
    return TextAnswer(labels=labels, candidates=candidates, note=answer.note)


def _evidence(suggestion: Suggestion, explain: bool) -> list[EvidenceAnswer] | None:
    if not explain:
        return None
    return [
        EvidenceAnswer(word=word.word, start=word.start, end=word.end, weight=round(word.weight, _DIGITS))
        for word in suggestion.evidence
    ]
