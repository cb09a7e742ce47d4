"""Guards around the app: limits for bodies, the key, headers for browsers, and a log without texts.

An answer may be ready before the body has arrived: a refusal, for instance. The connection is then closed
after it, but only once the rest of the body has been read and thrown away, up to a limit, because closing at
once would take the answer away from a client that is still sending.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seq2set.server.errors import INTERNAL, ApiError, client_disconnected, make_error_response, unavailable
from seq2set.server.metrics import ServerMetrics
from seq2set.server.settings import ServeSettings

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

LINGER_SECONDS = 2.0
LINGER_BYTES = 16 * 2**20
_CLOSE = (b"connection", b"close")


class BodyGuard:
    """Middleware that refuses bodies that are too large or too slow."""

    def __init__(self, app: ASGIApp, settings: ServeSettings, upload_path: str):
        self._app, self._settings, self._upload_path = app, settings, upload_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, and watch its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        declared = int(headers.get(b"content-length", b"0"))
        expected = declared > 0 or b"transfer-encoding" in headers
        body = _Body(receive, send, *self._find_limits(scope["path"]), arrived=not expected)
        if declared > body.most:
            await body.too_large().response()(scope, body.receive, body.send)
        else:
            await self._app(scope, body.receive, body.send)

    def _find_limits(self, path: str) -> tuple[int, float]:
        if path == self._upload_path:
            return self._settings.max_upload_bytes, self._settings.upload_seconds
        return self._settings.max_body_bytes, self._settings.body_seconds


@dataclass
class _Body:
    """The body of one request, between the client and the app."""

    inner_receive: Receive
    inner_send: Send
    most: int
    seconds: float
    arrived: bool
    seen: int = 0
    deadline: float | None = None

    async def receive(self) -> Message:
        """Give the next part of the body, or refuse it."""
        if self.arrived:
            return await self.inner_receive()
        self.deadline = self.deadline or anyio.current_time() + self.seconds
        try:
            with anyio.fail_after(self.deadline - anyio.current_time()):
                message = await self._receive_next()
        except TimeoutError:
            raise ApiError(408, f"the body took more than {self.seconds:g} s to arrive") from None
        if self.seen > self.most:
            raise self.too_large()
        return message

    async def send(self, message: Message) -> None:
        """Pass the answer on; where it overtakes the body, say that the connection ends with it."""
        if self.arrived:
            await self.inner_send(message)
        elif message["type"] == "http.response.start":
            await self.inner_send({**message, "headers": [*message.get("headers", []), _CLOSE]})
        else:
            last = not message.get("more_body", False)
            await self.inner_send({**message, "more_body": True})
            if last:
                await self._linger()
                await self.inner_send({"type": "http.response.body", "body": b"", "more_body": False})

    def too_large(self) -> ApiError:
        """Refuse a body for its size."""
        return ApiError(413, f"the body has more than {self.most:,} bytes, which is the most allowed here")

    async def _receive_next(self) -> Message:
        message = await self.inner_receive()
        self.seen += len(message.get("body", b""))
        self.arrived = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message

    async def _linger(self) -> None:
        most = self.seen + LINGER_BYTES
        with anyio.move_on_after(LINGER_SECONDS):
            while not self.arrived and self.seen < most:
                await self._receive_next()


class KeyGuard:
    """Middleware that asks for the key, where there is one; health checks and the page's files need none."""

    def __init__(self, app: ASGIApp, key: str | None):
        self._app, self._key = app, key.encode() if key else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass that has the key or needs none."""
        if scope["type"] == "http" and self._key and _needs_key(scope["path"]):
            sent = _read_key(dict(scope["headers"]))
            if not hmac.compare_digest(sent, self._key):  # in constant time
                await _refuse_key().response()(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _needs_key(path: str) -> bool:
    return path.startswith("/v1/") or path == "/metrics"


def _read_key(headers: Mapping[bytes, bytes]) -> bytes:
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else headers.get(b"x-api-key", b"")


def _refuse_key() -> ApiError:
    sentence = "a key is needed here: send 'Authorization: Bearer KEY', or 'X-API-Key: KEY'"
    return ApiError(401, sentence, headers={"WWW-Authenticate": "Bearer"})


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

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _add_defaults(message.get("headers", []))}
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            if status:  # the answer has begun; breaking the connection is the only way to say that it failed
                raise
            _log.exception("%s %s failed", scope["method"], _name_route(scope))
            await make_error_response(500, "internal", INTERNAL)(scope, receive, noted)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route, method = _name_route(scope), scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(method, route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        client = (scope.get("client") or ("-",))[0]
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
            raise client_disconnected()
        raise unavailable(f"timed out after {seconds:g} s; try again later", code="timeout")
    finally:
        task.cancel()
        gone.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
