"""`POST /v1/feedback`: what people say of a text's labels."""

from __future__ import annotations

import sqlite3
from collections import Counter

from fastapi import APIRouter, Request

from seq2set.server.errors import ApiError, unavailable
from seq2set.server.feedback_store import Feedback
from seq2set.server.schemas import FeedbackAnswer, FeedbackBody, refusals
from seq2set.server.service import Service, service_of

router = APIRouter(tags=["feedback"])


@router.post("/v1/feedback", status_code=201, responses=refusals(400, 401, 404, 408, 413, 422, 500, 503))
async def feedback(body: FeedbackBody, request: Request) -> FeedbackAnswer:
    """Keep what was accepted, rejected and added; three empty lists say that the text has no label."""
    service = service_of(request)
    if service.store is None:
        raise ApiError(404, "no feedback is kept here; start the server with --feedback", code="feedback_off")
    service.check_text(body.text)
    said = _checked(body, service)
    try:
        number = await service.store.add(said)
    except sqlite3.Error as error:
        raise unavailable(f"the feedback could not be kept: {error}") from error
    service.metrics.feedback.inc()
    return FeedbackAnswer(id=number)


def _checked(body: FeedbackBody, service: Service) -> Feedback:
    lists = [[label.strip() for label in one] for one in (body.accepted, body.rejected, body.added)]
    said = Feedback(body.text, *lists)
    counts = Counter(label for label, _ in said.verdicts())
    if "" in counts:
        raise ApiError(422, "a label is empty; it must hold a character that is not a space")
    twice = next((label for label, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ApiError(422, f"label '{twice}' stands there twice; each may stand in one list, once")
    known = service.model.predictor.tagger.labels
    strange = next((one for one in (*said.accepted, *said.rejected) if known.index(one) is None), None)
    if strange is not None:
        raise ApiError(422, f"label '{strange}' is not known to the model; only added may name such labels")
    return said
