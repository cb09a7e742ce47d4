"""The app: routes, guards and a batcher around one model, and the files of the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from anyio.to_thread import run_sync
from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse

from seq2set.server.batching import DynamicBatcher
from seq2set.server.errors import handle_errors
from seq2set.server.feedback_store import FeedbackStore
from seq2set.server.guards.access import AccessGuard
from seq2set.server.guards.bodies import BodyGuard
from seq2set.server.guards.callers import HostGuard, KeyGuard
from seq2set.server.metrics import ServerMetrics
from seq2set.server.model_pool import ModelPool
from seq2set.server.routes import batch, feedback, health, model, predict
from seq2set.server.served_model import ServedModel
from seq2set.server.service import Service, make_label_rows
from seq2set.server.settings import ServeSettings
from seq2set.server.uploads import rehearse_reading

API_VERSION = "1.0.0"
"""The version of the API; the first number stands in its addresses."""

DESCRIPTION = """Assign sets of labels to texts, with the words that each label rests on.

Errors have one form: `{"error": {"code": ..., "message": ...}}`. Offsets in texts count Unicode
code points."""

ROUTERS: list[APIRouter] = [one.router for one in (predict, model, feedback, batch, health)]
"""The groups of routes, in the order of the API's description"""


def create_app(served: ServedModel, pool: ModelPool, settings: ServeSettings) -> FastAPI:
    """Put a server for a model together; it answers, and is closed, with the app's lifespan."""
    metrics = ServerMetrics()
    batcher = DynamicBatcher(pool, settings, metrics, len(served.labels))
    store = None
    if settings.feedback is not None:
        store = FeedbackStore(settings.feedback, served.fingerprint, settings.max_feedback_bytes)
    service = Service(served, settings, make_label_rows(served), batcher, metrics, store)
    app = FastAPI(
        title="seq2set",
        version=API_VERSION,
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # their pages load code from other hosts
        redoc_url=None,
        lifespan=_run_service,
    )
    app.state.service = service
    for router in ROUTERS:
        app.include_router(router)
    add_page(app)
    handle_errors(app)
    # The last one stands outside of the others.
    app.add_middleware(KeyGuard, key=settings.key)
    app.add_middleware(BodyGuard, settings=settings, upload_path=batch.PATH)
    app.add_middleware(HostGuard, settings=settings)
    app.add_middleware(AccessGuard, metrics=metrics)
    return app


@asynccontextmanager
async def _run_service(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.batcher.start()
    await run_sync(rehearse_reading)
    try:
        yield
    finally:
        await service.batcher.close()
        if service.store is not None:
            service.store.close()


PAGE = Path(__file__).parent / "page"
INDEX = "index.html"


def add_page(app: FastAPI, folder: Path = PAGE) -> None:
    """Serve the files of a folder, each at its own address, and the index at `/`; nothing else is read."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            _add_file(app, f"/{path.relative_to(folder).as_posix()}", path)
    if (folder / INDEX).is_file():
        _add_file(app, "/", folder / INDEX)


def _add_file(app: FastAPI, address: str, path: Path) -> None:
    async def file() -> FileResponse:
        return FileResponse(path)

    app.api_route(address, methods=["GET", "HEAD"], include_in_schema=False)(file)
