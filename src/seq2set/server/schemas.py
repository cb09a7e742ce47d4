"""What goes in and what comes out, as the OpenAPI description shows it.

The model's answers in the form of the API.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from seq2set.config.catalog import SEARCHES
from seq2set.core.names import OneOf
from seq2set.models.predictions import Request, Suggestion
from seq2set.server.answers import Answer, Ask

Search = Annotated[str, OneOf(SEARCHES)]


def _whole(text: str) -> str:
    """Refuse half of a surrogate pair, which JSON can spell but no character set can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text holds half of a surrogate pair; it must be valid Unicode") from None
    return text


def _without_fraction(value: object) -> object:
    """Take 2.0 for 2, as JSON Schema does, where a value must be of its exact type otherwise."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_WHOLE_NUMBER = BeforeValidator(_without_fraction)
Text = Annotated[str, AfterValidator(_whole)]
Count = Annotated[int, Field(ge=1, le=10**6), _WHOLE_NUMBER]
Label = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_whole)]

_TEXT_OR_TEXTS: list[JsonValue] = [
    {"required": ["text"], "properties": {"text": {"type": "string"}, "texts": {"type": "null"}}},
    {"required": ["texts"], "properties": {"texts": {"type": "array"}, "text": {"type": "null"}}},
]
"""Which of the two must be given, as JSON Schema says it; the route itself refuses the rest in words."""

_TEXT = "Wheat exports rose as the harvest beat all forecasts."


class Body(BaseModel):
    """What a client sends; a name that is not known, or a value of another type, is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PredictBody(Body):
    """Texts, and how their labels are wanted; what is left open is as the model was trained."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": _TEXT_OR_TEXTS,
            "examples": [
                {"text": _TEXT, "explain": True},
                {"texts": [_TEXT, "Crude fell below 60 dollars a barrel."], "max_labels": 3},
                {"text": _TEXT, "candidates": 20, "explain": True},
            ],
        }
    )

    text: Text | None = Field(default=None, description="One text; give this or `texts`.")
    texts: list[Text] | None = Field(
        default=None, min_length=1, description="Several texts; give this or `text`."
    )
    search: Search | None = Field(
        default=None, description="How a decoder is searched; other models take no notice."
    )
    threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The score from which on a label is given, instead of the model's rule.",
    )
    top_k: Count | None = Field(default=None, description="So many labels, instead of the model's rule.")
    max_labels: Count | None = Field(default=None, description="At most so many labels, the best ones.")
    min_labels: Annotated[int, Field(ge=0, le=10**6), _WHOLE_NUMBER] = Field(
        default=0, description="At least so many labels."
    )
    explain: bool = Field(default=False, description="Whether to name the words that each label rests on.")
    words_per_label: Annotated[int, Field(ge=1, le=100), _WHOLE_NUMBER] = Field(
        default=8,
        validation_alias=AliasChoices("words_per_label", "words_a_label"),  # the second: version 0.1.0
        description="How many words to name for each label.",
    )
    candidates: Annotated[int, Field(ge=1, le=1000), _WHOLE_NUMBER] | None = Field(
        default=None,
        description="So many of the best labels, whether they are given or not, so that a threshold can be "
        "moved without a new request.",
    )

    def ask(self) -> Ask:
        """Return what is asked of the model."""
        request = Request(
            threshold=self.threshold,
            max_labels=self.max_labels,
            min_labels=self.min_labels,
            search=self.search,
            explain=self.explain,
            words_per_label=self.words_per_label,
            top_k=self.top_k,
        )
        return Ask(request, self.candidates)


class EvidenceAnswer(BaseModel):
    """A word that a label rests on; `start` and `end` count the text's Unicode code points."""

    word: str
    start: int
    end: int
    weight: float = Field(description="The word's share of the reasons.")


class LabelAnswer(BaseModel):
    """A label that is given."""

    label: str
    score: float
    evidence: list[EvidenceAnswer] | None = Field(default=None, description="With `explain` only.")


class CandidateAnswer(LabelAnswer):
    """A label that may or may not be given; its score is the probability that it is in the set."""

    given: bool = Field(description="Whether it is among `labels`.")


class TextAnswer(BaseModel):
    """What the model says of one text."""

    labels: list[LabelAnswer] = Field(description="In the order in which the model gives them.")
    candidates: list[CandidateAnswer] | None = Field(
        default=None, description="Where asked for, the best first."
    )
    note: str | None = Field(
        default=None,
        description="`no known words` where the model knows no word of the text: it gets no label and has no "
        "candidates, unless `top_k` or `min_labels` asks for some.",
    )


class PredictAnswer(BaseModel):
    """One answer a text, in the order of the texts."""

    predictions: list[TextAnswer]


class LabelRow(BaseModel):
    """What is known of one label of the model; figures are of the validation split, where they were kept."""

    label: str
    frequency: int = Field(description="How many training documents have it.")
    threshold: float | None = Field(description="The score from which on it is given, if that is the rule.")
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    support: int | None = None


class LabelsAnswer(BaseModel):
    """Labels that match, those that begin like the query first, then the more frequent first."""

    total: int = Field(description="How many labels match.")
    labels: list[LabelRow]


class RuleAnswer(BaseModel):
    """How scores become a set of labels."""

    kind: Literal["global", "top-k", "per-label"]
    thresholds: list[float] | None = None
    k: int | None = None
    in_words: str


class LimitsAnswer(BaseModel):
    """What the server takes."""

    max_texts: int
    max_text_chars: int
    max_body_bytes: int
    max_upload_bytes: int


class ModelAnswer(BaseModel):
    """The model and what it says about itself."""

    model: str = Field(description="The kind of model.")
    version: str = Field(description="The version of seq2set that serves it.")
    card: str = Field(description="The model card, in Markdown.")
    metrics: dict[str, float] = Field(description="On the validation split.")
    about: dict[str, Any] = Field(description="What training recorded: data, settings, times.")
    manifest: dict[str, Any] = Field(description="The files of the model with their SHA-256.")
    rule: RuleAnswer
    rule_decides: bool = Field(description="Whether the rule chooses the labels, or a search by itself.")
    searches: list[str] = Field(description="The searches to choose from; none where there is no decoder.")
    labels: int = Field(description="How many labels it knows.")
    per_label: list[LabelRow] | None = Field(
        default=None, description="Each label with its figures, where training kept them."
    )
    feedback: bool = Field(description="Whether feedback is kept.")
    limits: LimitsAnswer


class FeedbackBody(Body):
    """What somebody says of a text's labels; each label stands in one list only."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": _TEXT, "accepted": ["grain"], "rejected": ["oil"], "added": ["trade"]}]
        }
    )

    text: Text
    accepted: list[Label] = Field(
        default=[], max_length=1000, description="Labels of the model that are right."
    )
    rejected: list[Label] = Field(
        default=[], max_length=1000, description="Labels of the model that are wrong."
    )
    added: list[Label] = Field(
        default=[], max_length=100, description="Labels that were missing; the model need not know them."
    )


class FeedbackAnswer(BaseModel):
    """The number under which the feedback is kept; it is on the disk when this is sent."""

    id: int


class HealthAnswer(BaseModel):
    """How the server is."""

    status: Literal["ok"]


class ErrorDetail(BaseModel):
    """What is wrong: a code for programs, a sentence for people."""

    code: str
    message: str


class ErrorAnswer(BaseModel):
    """The one form of every error."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"error": {"code": "invalid", "message": "threshold is 3; it must lie in [0, 1]"}}]
        }
    )

    error: ErrorDetail


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors that a route may answer with."""
    return {status: {"model": ErrorAnswer} for status in statuses}


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
