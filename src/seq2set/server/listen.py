"""A server that listens: the socket, uvicorn, and limits for connections and for the heads of requests.

uvicorn has no setting for the last two, nor for a clean end after a signal. What is used of it beyond its
documented interface is `H11Protocol` (`conn`, `connections`, `loop`, `transport`, `send_400_response`) and
`Server` (`startup`, `capture_signals`, `handle_exit`); pyproject.toml bounds its version from above.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from seq2set.core.errors import InputError
from seq2set.server.errors import make_error_body
from seq2set.server.settings import ServeSettings


def make_protocol(settings: ServeSettings) -> type[H11Protocol]:
    """Return the protocol that uvicorn is to speak under these settings."""

    class Guarded(GuardedProtocol):
        limits = settings

    return Guarded


class GuardedProtocol(H11Protocol):
    """uvicorn's own protocol, with a timer for heads and every refusal in the one JSON form."""

    limits: ServeSettings
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer, or refuse one connection too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            self._refuse(503, "unavailable", f"{self.limits.max_connections} connections are open already")
        else:
            self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Stop the timer when the head is complete; start it when the next one begins."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None and not self.transport.is_closing():
            self._watch_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(400, "bad_request", msg[:1].lower() + msg[1:].rstrip("."))

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
        # The app may be in the middle of this request; for it the client is gone.
        self.connection_lost(None)
        self.transport.close()


Announce = Callable[[str], object]
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def open_socket(settings: ServeSettings) -> socket.socket:
    """Take the port, or say why it is not available."""
    host, port = settings.host, settings.port
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise InputError(f"cannot listen on {host}, port {port}: {str(reason).lower()}") from error


def format_address(listening: socket.socket) -> str:
    """Return the address to open in a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn's server, which announces its address and ends with exit code 0 after a signal."""

    def __init__(self, config: uvicorn.Config, announce: Announce):
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then announce the address."""
        await super().startup(sockets)
        for listening in sockets or ():
            self._announce(format_address(listening))

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Finish what was accepted and stop at a signal; uvicorn's own would raise it again afterwards."""
        here = threading.current_thread() is threading.main_thread()  # only there may signals be handled
        before = {one: signal.signal(one, self.handle_exit) for one in _SIGNALS} if here else {}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def make_server(app: FastAPI, settings: ServeSettings, announce: Announce) -> Server:
    """Return a server that is ready to run on a socket."""
    config = uvicorn.Config(
        app,
        http=make_protocol(settings),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # or a client could write anything into the log
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    return Server(config, announce)


def serve(make_app: Callable[[], FastAPI], settings: ServeSettings, announce: Announce) -> None:
    """Serve until a signal; `announce` gets the address once the server listens.

    The port is taken first, for it is the quickest to fail.
    """
    with open_socket(settings) as listening:
        make_server(make_app(), settings, announce).run([listening])
