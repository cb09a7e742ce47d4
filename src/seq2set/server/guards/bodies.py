"""Limits for bodies: their size, one by one and together, their time, and how many values JSON may hold.

An answer may be ready before the body has arrived: a refusal, for instance. The connection is then closed
after it, but only once the rest of the body has been read and thrown away, up to a limit, because closing at
once would take the answer away from a client that is still sending.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seq2set.server.errors import ApiError, refuse_busy
from seq2set.server.settings import ServeSettings

LINGER_SECONDS = 2.0
LINGER_BYTES = 16 * 2**20
_CLOSE = (b"connection", b"close")

MAX_VALUES = 4_000
"""How many values a body may hold beside its texts; feedback on 2,100 labels is the most of sensible ones."""


class BodyGuard:
    """Middleware that refuses bodies that are too large or too slow."""

    def __init__(self, app: ASGIApp, settings: ServeSettings, upload_path: str):
        self._app, self._settings, self._upload_path = app, settings, upload_path
        self._memory = _HeldBytes("max_held_bytes", settings.max_held_bytes)
        self._disk = _HeldBytes("max_stored_bytes", settings.max_stored_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, and watch its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        declared = int(headers.get(b"content-length", b"0"))
        expected = declared > 0 or b"transfer-encoding" in headers
        body = self._make_body(scope["path"], receive, send, arrived=not expected)
        try:
            if declared > body.most:
                await body.refuse_size().response()(scope, body.receive, body.send)
            else:
                await self._app(scope, body.receive, body.send)
        finally:
            body.held.now -= body.counted

    def _make_body(self, path: str, receive: Receive, send: Send, *, arrived: bool) -> _LimitedBody:
        limits = self._settings
        if path == self._upload_path:
            most, seconds, held, values = limits.max_upload_bytes, limits.upload_seconds, self._disk, None
        else:
            most, seconds, held = limits.max_body_bytes, limits.body_seconds, self._memory
            values = CommaCounter(MAX_VALUES + limits.max_texts)
        return _LimitedBody(receive, send, most, seconds, held, values, arrived)


@dataclass
class _HeldBytes:
    """The bytes of all bodies that are held at a time, and how many they may be."""

    setting: str
    most: int
    now: int = 0


@dataclass
class CommaCounter:
    """Counts the commas of JSON outside of its texts while it arrives.

    Millions of tiny values take far more time and memory than their bytes; a long text does not.
    """

    most: int
    count: int = 0
    _inside: bool = field(default=False, repr=False)
    _escaped: bool = field(default=False, repr=False)

    def read(self, block: bytes) -> None:
        """Count those of the next block; refuse the body where they are too many."""
        plain = _ESCAPED.sub(b"", b"\\" + block if self._escaped else block)
        self._escaped = plain.endswith(b"\\")
        pieces = plain.split(b'"')
        self.count += sum(piece.count(b",") for piece in pieces[self._inside :: 2])
        self._inside ^= len(pieces) % 2 == 0
        if self.count > self.most:
            raise ApiError(413, f"the body holds more than {self.most:,} values, which is the most allowed")


_ESCAPED = re.compile(rb"\\.", re.DOTALL)


@dataclass
class _LimitedBody:
    """The body of one request, between the client and the app."""

    inner_receive: Receive
    inner_send: Send
    most: int
    seconds: float
    held: _HeldBytes
    values: CommaCounter | None
    arrived: bool
    seen: int = 0
    counted: int = 0
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
        self._check(message.get("body", b""))
        return message

    def _check(self, block: bytes) -> None:
        if self.seen > self.most:
            raise self.refuse_size()
        held, self.counted = self.held, self.counted + len(block)
        held.now += len(block)
        if held.now > held.most:
            raise refuse_busy(f"all requests together hold more than {held.most:,} bytes ({held.setting})")
        if self.values is not None:
            self.values.read(block)

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
                with suppress(asyncio.CancelledError):  # the server stops; the answer is there already
                    await self._linger()
                await self.inner_send({"type": "http.response.body", "body": b"", "more_body": False})

    def refuse_size(self) -> ApiError:
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
