"""The app: routes, guards and a batcher around one model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from seq2set.server import (
    routes_batch,
    routes_feedback,
    routes_health,
    routes_model,
    routes_predict,
)
from seq2set.server.answering import Answerer
from seq2set.server.batching import DynamicBatcher
from seq2set.server.bodies import BodyGuard
from seq2set.server.errors import handle_errors
from seq2set.server.feedback import FeedbackStore
from seq2set.server.guards import AccessGuard, KeyGuard
from seq2set.server.label_rows import label_rows
from seq2set.server.metrics import ServerMetrics
from seq2set.server.opening import ServedModel
from seq2set.server.page_files import add_page
from seq2set.server.service import Service
from seq2set.server.settings import ServeSettings

API_VERSION = "1.0.0"
"""The version of the API; the first number stands in its addresses."""

DESCRIPTION = """Assign sets of labels to texts, with the words that each label rests on.

Errors have one form: `{"error": {"code": ..., "message": ...}}`. Places in texts count Unicode
code points."""


def create_app(model: ServedModel, settings: ServeSettings | None = None) -> FastAPI:
    """Put a server for a model together; it answers, and is closed, with the app's lifespan."""
    settings = settings or ServeSettings()
    metrics = ServerMetrics()
    answerer = Answerer(model.predictor.tagger)
    batcher = DynamicBatcher(answerer, settings, metrics)
    store = FeedbackStore(settings.feedback, model.fingerprint) if settings.feedback else None
    service = Service(model, settings, label_rows(model), answerer, batcher, metrics, store)
    app = FastAPI(
        title="seq2set",
        version=API_VERSION,
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # their pages load code from other hosts
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.service = service
    for routes in (routes_predict, routes_model, routes_feedback, routes_batch, routes_health):
        app.include_router(routes.router)
    add_page(app)
    handle_errors(app)
    # The last one stands outside of the others.
    app.add_middleware(KeyGuard, key=settings.key)
    app.add_middleware(BodyGuard, settings=settings, upload_path=routes_batch.PATH)
    app.add_middleware(AccessGuard, metrics=metrics)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.batcher.start()
    try:
        yield
    finally:
        await service.batcher.close()
        if service.store is not None:
            service.store.close()
