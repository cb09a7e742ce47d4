"""`/healthz`, `/readyz` and `/metrics`: what a platform asks a server."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from seq2set.server.errors import unavailable
from seq2set.server.schemas import HealthAnswer, refusals
from seq2set.server.service import service_of

_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

router = APIRouter(tags=["health"], responses=refusals(408, 413, 500))


@router.get("/healthz")
async def healthz() -> HealthAnswer:
    """Say that the process is alive."""
    return HealthAnswer(status="ok")


@router.get("/readyz", responses=refusals(503))
async def readyz(request: Request) -> HealthAnswer:
    """Say whether texts are taken."""
    if not service_of(request).batcher.accepting:
        raise unavailable("the server takes no texts at present")
    return HealthAnswer(status="ok")


@router.get(
    "/metrics",
    response_class=Response,
    responses=_TEXT | refusals(401),
)
async def metrics(request: Request) -> Response:
    """Give the counters as Prometheus reads them."""
    return Response(service_of(request).metrics.text(), media_type=CONTENT_TYPE_LATEST)
