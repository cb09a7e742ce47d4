"""`POST /v1/feedback`: which labels of a text are right, wrong and missing."""

from __future__ import annotations

import sqlite3
from collections import Counter

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from seq2set.server.errors import ApiError, refuse_unavailable
from seq2set.server.feedback_store import Feedback
from seq2set.server.schemas import EXAMPLE_TEXT, Body, JsonRoute, Labels, describe_errors
from seq2set.server.service import Service, get_service


class FeedbackBody(Body):
    """Which labels of a text are right, wrong and missing; each label is in one list only."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": EXAMPLE_TEXT, "accepted": ["grain"], "rejected": ["oil"], "added": ["trade"]}
            ]
        }
    )

    text: str
    accepted: Labels = Field(default=[], max_length=1000, description="Labels of the model that are right.")
    rejected: Labels = Field(default=[], max_length=1000, description="Labels of the model that are wrong.")
    added: Labels = Field(
        default=[], max_length=100, description="Labels that were missing; the model need not know them."
    )


class FeedbackAnswer(BaseModel):
    """The number under which the feedback is kept; it is on the disk when this is sent."""

    id: int


router = APIRouter(tags=["feedback"], route_class=JsonRoute)


@router.post(
    "/v1/feedback",
    status_code=201,
    responses=describe_errors(400, 401, 403, 404, 408, 413, 421, 422, 429, 500, 503),
)
async def feedback(body: FeedbackBody, request: Request) -> FeedbackAnswer:
    """Keep what was accepted, rejected and added; three empty lists say that the text has no label."""
    service = get_service(request)
    if service.store is None:
        raise ApiError(404, "no feedback is kept here; start the server with --feedback", code="feedback_off")
    service.check_text(body.text)
    said = _check(body, service)
    try:
        number = await service.store.add(said)
    except sqlite3.Error as error:
        raise refuse_unavailable(f"the feedback could not be kept: {error}") from error
    service.metrics.feedback.inc()
    return FeedbackAnswer(id=number)


def _check(body: FeedbackBody, service: Service) -> Feedback:
    lists = [[label.strip() for label in one] for one in (body.accepted, body.rejected, body.added)]
    said = Feedback(body.text, *lists)
    counts = Counter(label for label, _ in said.verdicts())
    if "" in counts:
        raise ApiError(422, "a label is empty; it must hold a character that is not a space")
    twice = next((label for label, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ApiError(422, f"label '{twice}' appears more than once")
    known = service.model.labels
    strange = next((one for one in (*said.accepted, *said.rejected) if known.index(one) is None), None)
    if strange is not None:
        raise ApiError(422, f"label '{strange}' is not known to the model; only added may name such labels")
    return said
