"""Request bodies under guard: counted and timed while they arrive, however they are sent.

An answer may be ready before the body has arrived: a refusal, for instance. The connection is then closed
after it, but only once the rest of the body has been read and thrown away, up to a limit, because closing at
once would take the answer away from a client that is still sending.
"""

from __future__ import annotations

from dataclasses import dataclass

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seq2set.server.errors import ApiError
from seq2set.server.settings import ServeSettings

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
        body = _Body(receive, send, *self._limits(scope["path"]), arrived=not expected)
        if declared > body.most:
            await body.too_large().response()(scope, body.receive, body.send)
        else:
            await self._app(scope, body.receive, body.send)

    def _limits(self, path: str) -> tuple[int, float]:
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
                message = await self._next()
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

    async def _next(self) -> Message:
        message = await self.inner_receive()
        self.seen += len(message.get("body", b""))
        self.arrived = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message

    async def _linger(self) -> None:
        most = self.seen + LINGER_BYTES
        with anyio.move_on_after(LINGER_SECONDS):
            while not self.arrived and self.seen < most:
                await self._next()
