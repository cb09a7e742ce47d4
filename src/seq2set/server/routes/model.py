"""`GET /v1/model` and `GET /v1/labels`: what the model is, and the labels that it knows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

import seq2set
from seq2set.config.catalog import SEARCHES, list_shown
from seq2set.labels.confidence.acceptance import describe_accepted
from seq2set.server.schemas import describe_errors
from seq2set.server.service import LabelRow, find_labels, get_service, read_figures


class LabelsAnswer(BaseModel):
    """Labels that match: those that begin with the query first, then the more frequent first."""

    total: int = Field(description="How many labels match.")
    labels: list[LabelRow]


class RuleAnswer(BaseModel):
    """How scores become a set of labels."""

    kind: Literal["global", "top-k", "expected-f1", "per-label"]
    thresholds: list[float] | None = None
    k: int | None = None
    in_words: str


class MetricAnswer(BaseModel):
    """How to show a metric."""

    name: str = Field(description="Its key in `metrics`.")
    title: str
    summary: str
    digits: int = Field(description="How many digits to show after the point.")
    better: Literal["higher", "lower"]


class LimitsAnswer(BaseModel):
    """What the server accepts."""

    max_texts: int
    max_text_chars: int
    max_body_bytes: int
    max_upload_bytes: int


class ModelAnswer(BaseModel):
    """The model and what is known of it."""

    model: str = Field(description="The kind of model.")
    version: str = Field(description="The version of seq2set that serves it.")
    card: str = Field(description="The model card, in Markdown.")
    metrics: dict[str, float] = Field(description="On the validation split.")
    shown_metrics: list[MetricAnswer] = Field(description="The metrics that a page shows, in its order.")
    about: dict[str, Any] = Field(description="What training recorded: data, settings, times.")
    manifest: dict[str, Any] = Field(description="The files of the model with their SHA-256.")
    rule: RuleAnswer
    rule_decides: bool = Field(description="Whether the rule chooses the labels, or a search by itself.")
    calibrated: bool = Field(description="Whether a score is the probability that the label is right.")
    accepted: str | None = Field(
        default=None, description="How many labels may be accepted without a look, where that was tested."
    )
    searches: list[str] = Field(description="The searches to choose from; none where there is no decoder.")
    search_summaries: dict[str, str] = Field(description="What each of them does.")
    labels: int = Field(description="How many labels it knows.")
    per_label: list[LabelRow] | None = Field(
        default=None, description="Each label with its figures, where training kept them."
    )
    feedback: bool = Field(description="Whether feedback is kept.")
    limits: LimitsAnswer


router = APIRouter(tags=["model"], responses=describe_errors(401, 408, 413, 421, 500))


@router.get("/v1/model")
async def model(request: Request) -> ModelAnswer:
    """Describe the model: its card, metrics, files, decision rule and labels."""
    service = get_service(request)
    served, metadata = service.model, service.model.metadata
    searches = {name: row.summary for name, row in SEARCHES.items()} if served.decodes else {}
    return ModelAnswer(
        model=served.kind,
        version=seq2set.__version__,
        card=served.card,
        metrics=metadata.get("validation", {}),
        shown_metrics=[MetricAnswer(name=name, **row._asdict()) for name, row in list_shown().items()],
        about={name: value for name, value in metadata.items() if name != "per_label"},
        manifest=served.manifest,
        rule=RuleAnswer(**served.rule.to_dict(), in_words=served.rule.describe()),
        rule_decides=served.rule_decides,
        calibrated=served.calibrated,
        accepted=describe_accepted(metadata["accepted"]) if served.accepts else None,
        searches=list(searches),
        search_summaries=searches,
        labels=len(served.labels),
        per_label=service.rows if read_figures(metadata) else None,
        feedback=service.store is not None,
        limits=LimitsAnswer(**vars(service.settings)),
    )


@router.get("/v1/labels", responses=describe_errors(422))
async def labels(
    request: Request,
    query: Annotated[str, Query(max_length=200, description="A part of the label's name.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> LabelsAnswer:
    """Search the labels that the model can give."""
    found = find_labels(get_service(request).rows, query)
    return LabelsAnswer(total=len(found), labels=found[offset : offset + limit])
