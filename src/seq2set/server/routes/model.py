"""`GET /v1/model` and `GET /v1/labels`: what the model is, and the labels that it knows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

import seq2set
from seq2set.config.catalog import SEARCHES
from seq2set.models import predictions
from seq2set.server.schemas import LabelsAnswer, LimitsAnswer, ModelAnswer, RuleAnswer, refusals
from seq2set.server.service import Service, known_figures, matching, service_of

router = APIRouter(tags=["model"], responses=refusals(401, 408, 413, 500))


@router.get("/v1/model")
async def model(request: Request) -> ModelAnswer:
    """Describe the model: its card, metrics, files, decision rule and labels."""
    return described(service_of(request))


@router.get("/v1/labels", responses=refusals(422))
async def labels(
    request: Request,
    query: Annotated[str, Query(max_length=200, description="A part of the label's name.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> LabelsAnswer:
    """Search the labels that the model can give."""
    found = matching(service_of(request).rows, query)
    return LabelsAnswer(total=len(found), labels=found[offset : offset + limit])


def described(service: Service) -> ModelAnswer:
    """Put together what is known of the model."""
    tagger, metadata = service.model.predictor.tagger, service.model.predictor.metadata
    rule, settings = tagger.rule, service.settings
    return ModelAnswer(
        model=service.model.kind,
        version=seq2set.__version__,
        card=service.model.card,
        metrics=metadata.get("validation", {}),
        about={name: value for name, value in metadata.items() if name != "per_label"},
        manifest=service.model.manifest,
        rule=RuleAnswer(**rule.to_dict(), in_words=rule.describe()),
        rule_decides=tagger.rule_decides(predictions.Request()),
        searches=list(SEARCHES) if tagger.decodes else [],
        labels=len(tagger.labels),
        per_label=service.rows if known_figures(metadata) else None,
        feedback=service.store is not None,
        limits=LimitsAnswer(
            max_texts=settings.max_texts,
            max_text_chars=settings.max_text_chars,
            max_body_bytes=settings.max_body_bytes,
            max_upload_bytes=settings.max_upload_bytes,
        ),
    )
