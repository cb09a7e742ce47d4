"""The outermost guard: counts and logs each request, without texts, and hides internal errors."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seq2set.server.answers import INTERNAL
from seq2set.server.errors import make_error_response, refuse_disconnect, refuse_stopping, refuse_unavailable
from seq2set.server.metrics import ServerMetrics

ACCESS_LOG = "seq2set.access"
"""The logger that has one line per request: who, what, the status and the time; never a text or a query."""

PAGE_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
)
"""What the page may load: files of this server only, and no code inside the page itself."""

_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_log = logging.getLogger(ACCESS_LOG)
Result = TypeVar("Result")


class AccessGuard:
    """Middleware around all others: counts and logs each request, and hides internal errors."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics):
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, and remember how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 0, time.perf_counter()

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _add_defaults(message.get("headers", []))}
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except asyncio.CancelledError:  # the server stops, and the time to finish is over
            if status:
                raise
            await refuse_stopping().response()(scope, receive, send_noted)
        except Exception:
            if status:  # the answer has begun; breaking the connection is the only way to say that it failed
                raise
            _log.exception("%s %s failed", scope["method"], _name_route(scope))
            await make_error_response(500, "internal", INTERNAL)(scope, receive, send_noted)
        finally:
            seconds, client = time.perf_counter() - began, (scope.get("client") or ("-",))[0]
            route, method = _name_route(scope), scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(method, route, str(status)).inc()
            self._metrics.seconds.labels(route).observe(seconds)
            _log.info("%s %s %s %d %.1f ms", client, method, route, status, 1000 * seconds)


def _name_route(scope: Scope) -> str:
    """Name the address as it was declared: what a client wrote could be anything, even a text."""
    return str(getattr(scope.get("route"), "path", "unknown"))


def _add_defaults(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    present = {name.lower() for name, _ in headers}
    missing = ((name.encode(), value.encode()) for name, value in _HEADERS.items())
    return [*headers, *(one for one in missing if one[0] not in present)]


async def run_until_disconnect(request: Request, work: Coroutine[Any, Any, Result], seconds: float) -> Result:
    """Do the work, but cancel it when the client disconnects or the time is over."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_wait_for_disconnect(request.receive))
    try:
        await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            raise refuse_disconnect()
        raise refuse_unavailable(f"timed out after {seconds:g} s; try again later", code="timeout")
    finally:
        task.cancel()
        gone.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
