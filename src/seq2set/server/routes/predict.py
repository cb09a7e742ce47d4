"""`POST /v1/predict`: texts in, label sets out."""

from __future__ import annotations

from fastapi import APIRouter, Request

from seq2set.server.errors import ApiError
from seq2set.server.limits import unless_gone
from seq2set.server.schemas import PredictAnswer, PredictBody, refusals, text_answer
from seq2set.server.service import Service, service_of

router = APIRouter()


@router.post(
    "/v1/predict",
    response_model_exclude_none=True,
    responses=refusals(400, 401, 408, 413, 422, 429, 500, 503),
    tags=["predict"],
)
async def predict(body: PredictBody, request: Request) -> PredictAnswer:
    """Give each text its labels, with scores and, where asked for, the words that they rest on."""
    service = service_of(request)
    texts = _texts(body, service)
    work = service.batcher.submit(texts, body.ask())
    answers = await unless_gone(request, work, service.settings.answer_seconds)
    return PredictAnswer(predictions=[text_answer(one, explain=body.explain) for one in answers])


def _texts(body: PredictBody, service: Service) -> list[str]:
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
