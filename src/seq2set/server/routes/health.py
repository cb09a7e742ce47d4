"""`/healthz`, `/readyz` and `/metrics`, for platforms that run and watch servers."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from seq2set.server.errors import refuse_unavailable
from seq2set.server.schemas import describe_errors
from seq2set.server.service import get_service

_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


class HealthAnswer(BaseModel):
    """The state of the server."""

    status: Literal["ok"]


router = APIRouter(tags=["health"], responses=describe_errors(408, 413, 500))


@router.get("/healthz", responses=describe_errors(503))
async def healthz(request: Request) -> HealthAnswer:
    """Report whether a model process is alive and requests are taken to it."""
    if not get_service(request).batcher.healthy:
        raise refuse_unavailable("no model process is running")
    return HealthAnswer(status="ok")


@router.get("/readyz", responses=describe_errors(503))
async def readyz(request: Request) -> HealthAnswer:
    """Report whether the server accepts texts."""
    if not get_service(request).batcher.accepting:
        raise refuse_unavailable("not ready")
    return HealthAnswer(status="ok")


@router.get("/metrics", response_class=Response, responses=_TEXT | describe_errors(401, 421))
async def metrics(request: Request) -> Response:
    """Return the counters in the format of Prometheus."""
    found = generate_latest(get_service(request).metrics.registry)
    return Response(found, media_type=CONTENT_TYPE_LATEST)
