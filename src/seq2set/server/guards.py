"""Guards around the app: the key, what every answer says to browsers, and a log that holds no texts."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seq2set.server.errors import INTERNAL, ApiError, error_response
from seq2set.server.metrics import ServerMetrics

ACCESS_LOG = "seq2set.access"
"""The logger that has a line a request: who, what, the status and the time; never a text or a query."""

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


class KeyGuard:
    """Middleware that asks for the key, where there is one; health checks and the page's files need none."""

    def __init__(self, app: ASGIApp, key: str | None):
        self._app, self._key = app, key.encode() if key else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass that has the key or needs none."""
        if scope["type"] == "http" and self._key and _guarded(scope["path"]):
            sent = _sent_key(dict(scope["headers"]))
            if not hmac.compare_digest(sent, self._key):  # in constant time
                await _no_key().response()(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _guarded(path: str) -> bool:
    return path.startswith("/v1/") or path == "/metrics"


def _sent_key(headers: Mapping[bytes, bytes]) -> bytes:
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else headers.get(b"x-api-key", b"")


def _no_key() -> ApiError:
    sentence = "a key is needed here: send 'Authorization: Bearer KEY', or 'X-API-Key: KEY'"
    return ApiError(401, sentence, headers={"WWW-Authenticate": "Bearer"})


class AccessGuard:
    """Middleware around all others: counts and logs each request, and hides what went wrong inside."""

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
                message = {**message, "headers": _with_defaults(message.get("headers", []))}
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            if status:  # the answer has begun; breaking the connection is the only way to say that it failed
                raise
            _log.exception("%s %s failed", scope["method"], _route(scope))
            await error_response(500, "internal", INTERNAL)(scope, receive, noted)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route, method = _route(scope), scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(method, route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        client = (scope.get("client") or ("-",))[0]
        _log.info("%s %s %s %d %.1f ms", client, method, route, status, 1000 * seconds)


def _route(scope: Scope) -> str:
    """Name the address as it was declared: what a client wrote could be anything, even a text."""
    return str(getattr(scope.get("route"), "path", "unknown"))


def _with_defaults(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    present = {name.lower() for name, _ in headers}
    missing = ((name.encode(), value.encode()) for name, value in _HEADERS.items())
    return [*headers, *(one for one in missing if one[0] not in present)]
