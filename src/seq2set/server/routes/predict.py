"""`POST /v1/predict`: texts in, label sets out."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from seq2set.server.answers import LabelRequest
from seq2set.server.errors import ApiError
from seq2set.server.guards.access import run_until_disconnect
from seq2set.server.schemas import EXAMPLE_TEXT, WHOLE_NUMBER, Body, Count, JsonRoute, Search, describe_errors
from seq2set.server.service import Service, get_service

_TEXT_OR_TEXTS: list[JsonValue] = [
    {"required": ["text"], "properties": {"text": {"type": "string"}, "texts": {"type": "null"}}},
    {"required": ["texts"], "properties": {"texts": {"type": "array"}, "text": {"type": "null"}}},
]
"""Which of the two must be given, as JSON Schema says it; the route itself refuses the rest in words."""


class PredictBody(Body):
    """Texts, and which labels to return; what is left open is as the model was trained."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": _TEXT_OR_TEXTS,
            "examples": [
                {"text": EXAMPLE_TEXT, "explain": True},
                {"texts": [EXAMPLE_TEXT, "Crude fell below 60 dollars a barrel."], "max_labels": 3},
                {"text": EXAMPLE_TEXT, "candidates": 20, "explain": True},
            ],
        }
    )

    text: str | None = Field(default=None, description="One text; give this or `texts`.")
    texts: Annotated[list[str], Field(fail_fast=True)] | None = Field(
        default=None, min_length=1, description="Several texts; give this or `text`."
    )
    search: Search | None = Field(
        default=None, description="How to search a decoder; ignored by models without a decoder."
    )
    threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Return labels scoring at least this, instead of by the model's rule.",
    )
    top_k: Count | None = Field(
        default=None, description="Return the k highest-scoring labels, instead of by the model's rule."
    )
    max_labels: Count | None = Field(
        default=None, description="Maximum labels per text, the highest-scoring ones."
    )
    min_labels: Annotated[int, Field(ge=0, le=10**6), WHOLE_NUMBER] = Field(
        default=0, description="Minimum labels per text."
    )
    explain: bool = Field(
        default=False, description="Whether to name the words that speak for and against each label."
    )
    words_per_label: Annotated[int, Field(ge=1, le=100), WHOLE_NUMBER] = Field(
        default=8,
        validation_alias=AliasChoices("words_per_label", "words_a_label"),  # the second: version 0.1.0
        description="Maximum words or phrases for each label, and as many against it.",
    )
    candidates: Annotated[int, Field(ge=1, le=1000), WHOLE_NUMBER] | None = Field(
        default=None,
        description="Return this many of the best labels too, given or not, so that a threshold can be moved "
        "without a new request.",
    )

    def request(self) -> LabelRequest:
        """Return what is asked of the model."""
        return LabelRequest(**self.model_dump(exclude={"text", "texts"}))


class EvidenceAnswer(BaseModel):
    """A word or a phrase of the reasons; `start` and `end` count the text's Unicode code points."""

    word: str
    start: int
    end: int
    weight: float = Field(description="Its share of the reasons, below 0 where it speaks against the label.")
    names_label: bool = Field(description="Whether it is the label's own name.")


class LabelAnswer(BaseModel):
    """A label that is given."""

    label: str
    score: float = Field(
        description="The probability that the label is right, of a model that is calibrated."
    )
    mark: Literal["accept", "review"] | None = Field(
        default=None,
        description="Whether the label may be accepted without a look, where the model was tested for that.",
    )
    evidence: list[EvidenceAnswer] | None = Field(
        default=None, description="What speaks for it, the heaviest first; with `explain` only."
    )
    against: list[EvidenceAnswer] | None = Field(
        default=None, description="What speaks against it, the heaviest first; with `explain` only."
    )


class CandidateAnswer(LabelAnswer):
    """A label that may or may not be given; its score is the probability that it is in the set."""

    given: bool = Field(description="Whether it is among `labels`.")


class TextAnswer(BaseModel):
    """The answer for one text."""

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
    """One answer per text, in the order of the texts."""

    predictions: list[TextAnswer]


router = APIRouter(route_class=JsonRoute)


@router.post(
    "/v1/predict",
    response_model=PredictAnswer,
    responses=describe_errors(400, 401, 403, 408, 413, 421, 422, 429, 500, 503),
    tags=["predict"],
)
async def predict(body: PredictBody, request: Request) -> Response:
    """Return each text's labels with their scores and, with `explain`, the words that they rest on."""
    service = get_service(request)
    texts = _check_texts(body, service)
    work = service.batcher.submit(texts, body.request())
    answers = await run_until_disconnect(request, work, service.settings.answer_seconds)
    # They are JSON already: the model process has written them, so that this one stays free for requests.
    # They may be megabytes, and are put together once.
    answers[0] = b'{"predictions":[' + answers[0]
    answers[-1] += b"]}"
    return Response(b",".join(answers), media_type="application/json")


def _check_texts(body: PredictBody, service: Service) -> list[str]:
    if (body.text is None) == (body.texts is None):
        raise ApiError(422, "one of text and texts must be given, and not both")
    if body.text is not None:
        service.check_text(body.text)
        return [body.text]
    texts, most = body.texts or [], service.settings.max_texts
    if len(texts) > most:
        raise ApiError(413, f"texts holds {len(texts):,} texts; at most {most:,} are allowed")
    for number, text in enumerate(texts):
        service.check_text(text, f"texts.{number}")
    return texts
