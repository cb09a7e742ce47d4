"""Limits for connections, for the heads of requests and for how a body is cut, none of which uvicorn sets.

What is read at a time is small, because a slice is parsed in one step of the event loop: all others wait for
its end. Of a body that need not be parsed it is more, for each step has its price, too.

What is used of uvicorn's `H11Protocol` beyond its documented interface is `client`, `conn`, `connections`,
`loop`, `on_response_complete`, `send_400_response` and `transport`; pyproject.toml bounds its version from
above.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from seq2set.server.errors import make_error_body
from seq2set.server.guards.access import ACCESS_LOG
from seq2set.server.settings import ServeSettings

READ_BYTES = 2**12
"""Bytes that are read at a time; 256 KiB of the tiniest chunks would take more than a second to parse."""
BODY_BYTES = 2**16
"""The same for a body whose length was declared, which has nothing to parse."""

MAX_HEAD_LINES = 256
HEAD_BYTES = 2**16
MAX_TINY_CHUNKS = 2_000
TINY_CHUNK = 16
"""Bytes per chunk, on average, below which a body may not have more chunks than that."""

_HEAD_END = re.compile(rb"\n\r?\n")
_log = logging.getLogger(ACCESS_LOG)


def make_protocol(settings: ServeSettings) -> type[H11Protocol]:
    """Return the protocol that uvicorn is to speak under these settings."""

    class Guarded(GuardedProtocol):
        limits = settings

    return Guarded


class _Connection(h11.Connection):
    """h11's reader, which refuses bodies that are cut so small that reading them is nothing but work."""

    _chunks = _bytes = 0
    left = 0
    """How many bytes are still to come of a body whose length was declared"""

    def next_event(self) -> Any:
        """Return what was received next."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._bytes = 0
            headers = dict(event.headers)
            self.left = int(headers.get(b"content-length", 0))
            if b"transfer-encoding" in headers and b"content-length" in headers:
                # Two lengths: a proxy may have gone by the other, and take the rest for a request.
                raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding may not both be given")
        elif isinstance(event, h11.Data):
            self._chunks += bool(event.chunk_end)
            self._bytes += len(event.data)
            self.left -= len(event.data)
            if self._chunks > MAX_TINY_CHUNKS and self._bytes < TINY_CHUNK * self._chunks:
                raise h11.RemoteProtocolError("the body comes in chunks of a few bytes each")
        return event


class GuardedProtocol(asyncio.BufferedProtocol, H11Protocol):  # type: ignore[misc]
    """uvicorn's own protocol, with a timer for heads and every refusal in the one JSON form."""

    limits: ServeSettings
    conn: _Connection
    _timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _head_lines = 0
    _tail = b""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.conn = _Connection(h11.SERVER, HEAD_BYTES)
        self._buffer = bytearray()

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002
        """Return where the next slice is to be read to."""
        size = BODY_BYTES if self.conn.left >= BODY_BYTES else READ_BYTES
        if len(self._buffer) != size:
            self._buffer = bytearray(size)
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take the next slice."""
        self.data_received(bytes(self._buffer[:nbytes]))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer, or refuse one connection too many."""
        super().connection_made(transport)
        own = sum(other.client[:1] == self.client[:1] for other in self.connections)  # type: ignore[index, union-attr]
        if len(self.connections) > self.limits.max_connections:
            self._refuse(503, "unavailable", f"{self.limits.max_connections} connections are open already")
        elif own > self.limits.max_client_connections:
            most = self.limits.max_client_connections
            self._refuse(503, "unavailable", f"{most} connections of this client are open already")
        else:
            self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_timer()
        if exc is not None or not self.transport.get_write_buffer_size():
            self._stop_write_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Watch a client that does not read what it asked for."""
        super().pause_writing()
        self._watch_writes()

    def resume_writing(self) -> None:
        """Go on writing to a client that reads."""
        super().resume_writing()
        self._stop_write_timer()

    def on_response_complete(self) -> None:
        """Watch a client that has not read all; closing the connection would wait for it for ever."""
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._watch_writes()

    def data_received(self, data: bytes) -> None:
        """Stop the timer when the head is complete; start it when the next one begins."""
        if self.conn.their_state is h11.IDLE and not self._check_head(data):
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None and not self.transport.is_closing():
            self._watch_head()

    def _check_head(self, data: bytes) -> bool:
        """Refuse a head of very many lines, which take long to read, however short they are."""
        text = self._tail + data
        found = _HEAD_END.search(text)
        end = found.end() if found else len(text)
        lines = self._head_lines + text.count(b"\n", 0, end) - self._tail.count(b"\n")
        self._head_lines, self._tail = (0, b"") if found else (lines, text[-2:])
        if lines <= MAX_HEAD_LINES:
            return True
        self._refuse(431, "too_large", f"the request's head has more than {MAX_HEAD_LINES} lines")
        return False

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(400, "bad_request", msg[:1].lower() + msg[1:].rstrip("."))

    def _watch_writes(self) -> None:
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.limits.answer_seconds, self._check_writes)

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _check_writes(self) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _watch_head(self) -> None:
        self._timer = self.loop.call_later(self.limits.header_seconds, self._refuse_late_head)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse_late_head(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            seconds = self.limits.header_seconds
            self._refuse(408, "too_slow", f"the request's head took more than {seconds:g} s")

    def _refuse(self, status: int, code: str, message: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(make_error_body(code, message)).encode()
            headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
            head = h11.Response(status_code=status, headers=[*headers, ("connection", "close")])
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        _log.info("%s refused %d %s", (self.client or ("-",))[0], status, code)
        # The app may be in the middle of this request; for it the client is gone.
        self.connection_lost(None)
        self.transport.close()
