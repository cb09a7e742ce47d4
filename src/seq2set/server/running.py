"""A server that listens: the socket, uvicorn, and the address once it is there."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from seq2set.errors import InputError
from seq2set.server.protocol import guarded_protocol
from seq2set.server.settings import ServeSettings

Announce = Callable[[str], object]


def open_socket(settings: ServeSettings) -> socket.socket:
    """Take the port, or say why it cannot be had."""
    host, port = settings.host, settings.port
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise InputError(f"cannot listen on {host}, port {port}: {str(reason).lower()}") from error


def address_of(listening: socket.socket) -> str:
    """Return the address to open in a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn's server, which tells its address once it listens and ends well when it is told to stop."""

    def __init__(self, config: uvicorn.Config, announce: Announce):
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then tell the address."""
        await super().startup(sockets)
        for listening in sockets or ():
            self._announce(address_of(listening))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish what was accepted and stop; a second signal stops at once."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()  # or the process would die of the signal after all


def make_server(app: FastAPI, settings: ServeSettings, announce: Announce) -> Server:
    """Return a server that is ready to run on a socket."""
    config = uvicorn.Config(
        app,
        http=guarded_protocol(settings),
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
    """Serve until a signal says stop; `announce` is told the address once the server listens.

    The port is taken first, for it is the quickest to fail.
    """
    with open_socket(settings) as listening:
        make_server(make_app(), settings, announce).run([listening])
