"""A server that listens: the socket, uvicorn, and limits for connections and for the heads of requests.

uvicorn has no setting for the last two, nor for a clean end after a signal. What is used of it beyond its
documented interface is `H11Protocol` (`client`, `conn`, `connections`, `loop`, `on_response_complete`,
`send_400_response`, `transport`) and `Server` (`startup`, `shutdown`, `capture_signals`, `handle_exit`,
`server_state`); pyproject.toml bounds its version from above.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from seq2set.core.errors import InputError
from seq2set.server.app import create_app
from seq2set.server.batching import DynamicBatcher
from seq2set.server.errors import make_error_body
from seq2set.server.model_pool import ModelPool
from seq2set.server.service import ServedModel
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
    _write_timer: asyncio.TimerHandle | None = None

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
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None and not self.transport.is_closing():
            self._watch_head()

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
        # The app may be in the middle of this request; for it the client is gone.
        self.connection_lost(None)
        self.transport.close()


Announce = Callable[[str], object]
_DROP_SHARE, _CANCEL_SHARE = 0.8, 0.9
"""When requests are refused and when they are cancelled, as shares of the time to stop."""
_log = logging.getLogger(__name__)
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

    def __init__(self, config: uvicorn.Config, seconds: float, batcher: DynamicBatcher, announce: Announce):
        super().__init__(config)
        self._seconds, self._batcher, self._announce = seconds, batcher, announce
        self._timer: threading.Timer | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then announce the address."""
        await super().startup(sockets)
        for listening in sockets or ():
            self._announce(format_address(listening))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what was accepted; refuse what is not finished when most of the time is over."""
        timer = asyncio.get_running_loop().call_later(_DROP_SHARE * self._seconds, self._drop)
        await super().shutdown(sockets)
        timer.cancel()

    def _drop(self) -> None:
        self._report_dropped()
        self._batcher.drop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal; whatever still runs when the time is over ends with the process."""
        if self._timer is None:
            self._timer = threading.Timer(self._seconds, self._end)
            self._timer.daemon = True
            self._timer.start()
        super().handle_exit(sig, frame)

    def dismiss_timer(self) -> None:
        """Let the process live on once the server has ended in time: it may not be the server's own."""
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self._report_dropped()
        logging.shutdown()
        os._exit(1)  # the model processes end with this one

    def _report_dropped(self) -> None:
        requests = len(self.server_state.tasks)
        _log.warning("stopping: %d requests were not finished in time and are dropped", requests)

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
    batcher = app.state.service.batcher
    config = uvicorn.Config(
        app,
        http=make_protocol(settings),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # or a client could write anything into the log
        timeout_graceful_shutdown=_CANCEL_SHARE * settings.shutdown_seconds,  # type: ignore[arg-type]
    )
    return Server(config, settings.shutdown_seconds, batcher, announce)


def serve(model: Path, runtime: str, settings: ServeSettings, announce: Announce) -> None:
    """Serve a model until a signal; `announce` gets the address once the server listens.

    The port is taken first, for it is the quickest to fail.
    """
    with ExitStack() as stack:
        listening = stack.enter_context(open_socket(settings))
        last = stack.enter_context(ExitStack())  # the end of the model processes is in the time too
        pool = stack.enter_context(ModelPool(model, settings.count_workers(), runtime))
        app = create_app(ServedModel.from_dict(pool.description), pool, settings)
        server = make_server(app, settings, announce)
        last.callback(server.dismiss_timer)
        server.run([listening])
