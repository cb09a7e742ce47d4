"""A server in a process of its own, as users start it, and clients that cost next to nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from seq2set.errors import WorkError


class ServerProcess(NamedTuple):
    """A server that listens."""

    host: str
    port: int
    process: subprocess.Popen[str]

    def memory(self) -> int:
        """Return how many bytes of memory it holds."""
        command = ["ps", "-o", "rss=", "-p", str(self.process.pid)]
        return 1024 * int(subprocess.check_output(command))  # noqa: S603 (nothing in it comes from outside)


@contextmanager
def server_process(model: Path, *options: str) -> Iterator[ServerProcess]:
    """Start `seq2set serve` on a free port, and kill it in the end."""
    command = [sys.executable, "-m", "seq2set", "serve", str(model), "--port", "0", "--no-access-log"]
    # What is run is this very package.
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    try:
        address = urlsplit(process.stdout.readline().strip())
        if address.hostname is None or address.port is None:
            raise WorkError("the server did not start; what it said stands above")
        yield ServerProcess(address.hostname, address.port, process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    body: bytes


class Client:
    """One connection that is kept open; a context manager."""

    def __init__(self, server: ServerProcess):
        self._server = server

    async def __aenter__(self) -> Client:
        opened = await asyncio.open_connection(self._server.host, self._server.port)
        self.reader, self.writer = opened
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def post(self, path: str, body: bytes, kind: str = "application/json") -> Reply:
        """Send a body and wait for the answer."""
        self.writer.write(head("POST", path, kind, len(body)) + body)
        return await self.reply()

    async def get(self, path: str) -> Reply:
        """Ask for something."""
        self.writer.write(head("GET", path, "text/plain", 0))
        return await self.reply()

    async def reply(self) -> Reply:
        """Read an answer, which has a length or comes in pieces."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        headers = dict(line.split(b": ", 1) for line in lines[1:] if b": " in line)
        status = int(lines[0].split()[1])
        if b"content-length" in headers:
            return Reply(status, await self.reader.readexactly(int(headers[b"content-length"])))
        pieces = b""
        while size := int(await self.reader.readline(), 16):
            pieces += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()
        return Reply(status, pieces)


def head(method: str, path: str, kind: str, length: int) -> bytes:
    """Write the head of a request."""
    lines = f"{method} {path} HTTP/1.1", "Host: benchmark", f"Content-Type: {kind}"
    return ("\r\n".join(lines) + f"\r\nContent-Length: {length}\r\n\r\n").encode()
