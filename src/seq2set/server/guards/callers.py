"""Who may ask: names of the server, pages of other sites, and the key.

A page of another site can let its reader's browser send requests here. It cannot read the answers, unless it
calls this server by a name of its own (DNS rebinding); so only own names are answered. What changes something
or costs much is refused to pages of other sites altogether.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from seq2set.server.errors import ApiError
from seq2set.server.settings import ServeSettings

_OWN_NAMES = ("localhost", "127.0.0.1", "::1")
_ALL_ADDRESSES = ("", "0.0.0.0", "::")  # noqa: S104 (compared only)
_HARMLESS = ("GET", "HEAD", "OPTIONS")
_OPEN_PATHS = ("/healthz", "/readyz")
"""What a load balancer asks for, by whatever name; the answers say nothing of the model."""


class HostGuard:
    """Middleware that answers to the server's own names only, and not to pages of other sites."""

    def __init__(self, app: ASGIApp, settings: ServeSettings):
        self._app = app
        self._allowed = {name.lower() for name in settings.allowed_host or ()}
        self._names = {*_OWN_NAMES, settings.host.lower(), *self._allowed}
        self._any_address = settings.host in _ALL_ADDRESSES
        if self._any_address:
            self._names.add(socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass that is meant for this server."""
        if scope["type"] == "http" and scope["path"] not in _OPEN_PATHS:
            refusal = self._check(scope["method"], dict(scope["headers"]))
            if refusal is not None:
                await refusal.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, method: str, headers: Mapping[bytes, bytes]) -> ApiError | None:
        host, origin = (headers.get(name, b"").decode("latin-1").lower() for name in (b"host", b"origin"))
        if not self._is_own(_strip_port(host)):
            return ApiError(421, f"the host '{host[:100]}' is not served here; --allowed-host adds a name")
        if method in _HARMLESS:
            return None
        there = origin.partition("://")[2]
        foreign = origin and there != host and _strip_port(there) not in self._allowed
        if foreign or headers.get(b"sec-fetch-site") == b"cross-site":
            return ApiError(403, "pages of other sites may not send this request")
        return None

    def _is_own(self, name: str) -> bool:
        if name in self._names:
            return True
        with suppress(ValueError):
            # No other site can have an address for its name, so there is no danger where all are served.
            return self._any_address and bool(ip_address(name))
        return False


def _strip_port(host: str) -> str:
    name = host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]
    return name.removesuffix(".")


class KeyGuard:
    """Middleware that asks for the key, where there is one; health checks and the page's files need none."""

    def __init__(self, app: ASGIApp, key: str | None):
        self._app, self._key = app, key.encode() if key else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass that has the key or needs none."""
        if (
            scope["type"] == "http"
            and self._key
            and (scope["path"].startswith("/v1/") or scope["path"] == "/metrics")
        ):
            headers = dict(scope["headers"])
            scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
            sent = token.strip() if scheme.lower() == b"bearer" else headers.get(b"x-api-key", b"")
            if not hmac.compare_digest(sent, self._key):  # in constant time
                sentence = "a key is needed here: send 'Authorization: Bearer KEY', or 'X-API-Key: KEY'"
                refusal = ApiError(401, sentence, headers={"WWW-Authenticate": "Bearer"})
                await refusal.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)
