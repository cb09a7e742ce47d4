"""A server that listens: the socket, and uvicorn with a clean end after a signal.

What is used of uvicorn's `Server` beyond its documented interface is `startup`, `shutdown`,
`capture_signals`, `handle_exit` and `server_state`; pyproject.toml bounds its version from above.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import uvicorn
from fastapi import FastAPI

from seq2set.core.errors import InputError
from seq2set.server.app import create_app
from seq2set.server.batching import DynamicBatcher
from seq2set.server.guards.connections import make_protocol
from seq2set.server.model_pool import ModelPool
from seq2set.server.served_model import ServedModel
from seq2set.server.settings import ServeSettings

Announce = Callable[[str], object]
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


class StopPlan(NamedTuple):
    """What happens when, in seconds after the signal to stop."""

    drop: float
    """Requests that are not finished are refused"""
    cancel: float
    """Those that still run are cancelled"""
    end: float
    """The process ends"""
    kill: float
    """It ends even where no Python code can run any more"""

    @classmethod
    def make(cls, seconds: float) -> StopPlan:
        """Divide the time to stop; the end takes a busy machine some tenths of a second of it."""
        drop = seconds - max(0.2 * seconds, min(0.45 * seconds, 0.9))
        left = max(0.05 * seconds, min(0.25 * seconds, 0.5))
        return cls(drop, (drop + seconds - left) / 2, seconds - left, seconds - left / 2)


class Server(uvicorn.Server):
    """uvicorn's server, which announces its address and ends with exit code 0 after a signal."""

    def __init__(self, config: uvicorn.Config, seconds: float, batcher: DynamicBatcher, announce: Announce):
        super().__init__(config)
        self._plan, self._batcher, self._announce = StopPlan.make(seconds), batcher, announce
        self._signalled: float | None = None
        self._timer: threading.Timer | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then announce the address."""
        await super().startup(sockets)
        for listening in sockets or ():
            self._announce(format_address(listening))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what was accepted; refuse what is not finished when most of the time is over."""
        over = time.monotonic() - self._signalled if self._signalled else 0.0
        timer = asyncio.get_running_loop().call_later(self._plan.drop - over, self._drop)
        self.config.timeout_graceful_shutdown = max(0.0, self._plan.cancel - over)  # type: ignore[assignment]
        await super().shutdown(sockets)
        timer.cancel()

    def _drop(self) -> None:
        self._report_dropped()
        self._batcher.drop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal; whatever still runs when the time is over ends with the process."""
        if self._timer is None:
            self._signalled = time.monotonic()
            # A thread of C, which needs no lock that others may hold; what it writes is of no use to anybody.
            self._nowhere = os.open(os.devnull, os.O_WRONLY)
            faulthandler.dump_traceback_later(self._plan.kill, exit=True, file=self._nowhere)
            self._timer = threading.Timer(self._plan.end, self._end)
            self._timer.daemon = True
            self._timer.start()
        super().handle_exit(sig, frame)

    def dismiss_timer(self) -> None:
        """Let the process live on once the server has ended in time: it may not be the server's own."""
        if self._timer is not None:
            self._timer.cancel()
            faulthandler.cancel_dump_traceback_later()
            os.close(self._nowhere)
            self._timer = None

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
    # What it warns of is written by any stranger, as often as he likes; the access log has those, too.
    for name in ("uvicorn.error", "python_multipart"):
        logging.getLogger(name).setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=make_protocol(settings),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # or a client could write anything into the log
    )
    return Server(config, settings.shutdown_seconds, app.state.service.batcher, announce)


def serve(model: Path, runtime: str, settings: ServeSettings, announce: Announce) -> None:
    """Serve a model until a signal; `announce` gets the address once the server listens.

    The port is taken first, for it is the quickest to fail.
    """
    with ExitStack() as stack:
        listening = stack.enter_context(open_socket(settings))
        last = stack.enter_context(ExitStack())  # the end of the model processes is in the time too
        pool = stack.enter_context(ModelPool(model, settings.count_workers(), runtime, settings.max_batch))
        app = create_app(ServedModel.from_dict(pool.description), pool, settings)
        server = make_server(app, settings, announce)
        last.callback(server.dismiss_timer)
        server.run([listening])
