"""Concurrent clients of a server: requests that share forward passes against one at a time.

Both servers run as users start them, in processes of their own, on the same model; the same clients, which
cost next to nothing, send to them in turns over loopback. The same run then sends far more than the queue
holds: what is refused must be refused with 429.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from seq2set.benchmarks.inputs import make_texts, open_model
from seq2set.benchmarks.ratio import Ratio
from seq2set.core.errors import WorkError

PREDICT = "/v1/predict"


class ServerAddress(NamedTuple):
    """Where a server listens."""

    host: str
    port: int


class ServerProcess(NamedTuple):
    """A server that listens."""

    host: str
    port: int
    process: subprocess.Popen[str]

    def read_memory(self) -> int:
        """Return its resident memory in bytes, with that of its model processes."""
        shown = subprocess.check_output(["ps", "-A", "-o", "pid=,ppid=,rss="], text=True)  # noqa: S607
        rows = (tuple(map(int, row.split())) for row in shown.splitlines())
        return 1024 * sum(size for pid, parent, size in rows if self.process.pid in (pid, parent))

    def count_files(self) -> int:
        """Return how many files and sockets its front has open; 0 where the system does not tell."""
        with suppress(FileNotFoundError):
            return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))
        return 0


@contextmanager
def start_server(model: Path, *options: str) -> Iterator[ServerProcess]:
    """Start `seq2set serve` on a free port, and kill it in the end."""
    command = [sys.executable, "-m", "seq2set", "serve", str(model), "--port", "0", "--no-access-log"]
    # What is run is this very package.
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    try:
        address = urlsplit(process.stdout.readline().strip())
        if address.hostname is None or address.port is None:
            raise WorkError("the server did not start; see its messages above")
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

    def __init__(self, server: ServerAddress | ServerProcess):
        self._server = server

    async def __aenter__(self) -> Client:
        self.reader, self.writer = await asyncio.open_connection(self._server.host, self._server.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def post(self, path: str, body: bytes, kind: str = "application/json") -> Reply:
        """Send a body and wait for the answer."""
        self.writer.write(format_head("POST", path, kind, len(body)) + body)
        return await self.read_reply()

    async def get(self, path: str) -> Reply:
        """Send a request without a body and wait for the answer."""
        self.writer.write(format_head("GET", path, "text/plain", 0))
        return await self.read_reply()

    async def read_reply(self) -> Reply:
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


def format_head(method: str, path: str, kind: str, length: int) -> bytes:
    """Return the head of a request."""
    lines = f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}"
    return ("\r\n".join(lines) + f"\r\nContent-Length: {length}\r\n\r\n").encode()


QUEUE = 64
OVERLOAD = 4 * QUEUE
"""How many clients send at once to a queue that holds a quarter of them."""


class LoadResult(NamedTuple):
    """Latencies and statuses of a server under load."""

    seconds: float
    latencies: list[float]
    statuses: Counter[int]

    @property
    def seconds_per_request(self) -> float:
        """Seconds per answered request, all clients together."""
        return self.seconds / max(1, self.statuses[200])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures to show."""
        p50, p99 = np.percentile(self.latencies, [50, 99]) * 1000
        return {
            "requests_per_second": round(1 / self.seconds_per_request, 1),
            "p50_ms": round(float(p50), 1),
            "p99_ms": round(float(p99), 1),
            "statuses": dict(sorted(self.statuses.items())),
        }


def measure_server(
    documents: int = 256,
    *,
    model: Path | None = None,
    clients: int = 32,
    seconds: float = 5.0,
    rounds: int = 2,
    settings: Sequence[str] = (),
) -> Ratio:
    """Let `clients` send texts for some seconds per side and round; the default model has random weights."""
    texts = make_texts(documents)
    with (
        open_model(model, settings) as (chosen, _),
        start_server(chosen, "--queue", str(QUEUE)) as batched,
        start_server(chosen, "--max-batch", "1", "--window-ms", "0") as single,
    ):
        best = _measure_in_turns((batched, single), texts, clients, seconds, rounds)
        overload = asyncio.run(send_load(batched, texts, OVERLOAD, seconds))
        mean = asyncio.run(_fetch_texts_per_pass(batched))
    checks = {"batched": best[0].to_dict(), "one_by_one": best[1].to_dict(), "texts_per_pass": mean}
    checks |= {"overload": {"clients": OVERLOAD, "queue": QUEUE} | overload.to_dict()}
    shapes = {"documents": documents, "clients": clients, "words": 130, "model": str(model or "made")}
    ours, theirs = (one.seconds_per_request for one in best)
    return Ratio("serve", "one text per pass", ours, theirs, shapes, checks)


def _measure_in_turns(
    servers: Sequence[ServerProcess], texts: Sequence[str], clients: int, seconds: float, rounds: int
) -> list[LoadResult]:
    for server in servers:
        asyncio.run(send_load(server, texts, clients, min(1.0, seconds)))  # the first requests are slower
    calls = [[asyncio.run(send_load(one, texts, clients, seconds)) for one in servers] for _ in range(rounds)]
    return [min(side, key=lambda one: one.seconds_per_request) for side in zip(*calls, strict=True)]


async def send_load(server: ServerProcess, texts: Sequence[str], clients: int, seconds: float) -> LoadResult:
    """Let clients send one text after the other, each as soon as it has an answer."""
    result = LoadResult(0.0, [], Counter())
    bodies = itertools.cycle([json.dumps({"text": text}).encode() for text in texts])
    began = time.perf_counter()
    await asyncio.gather(*(_send(server, bodies, began + seconds, result) for _ in range(clients)))
    return result._replace(seconds=time.perf_counter() - began)


async def _send(server: ServerProcess, bodies: Iterator[bytes], until: float, result: LoadResult) -> None:
    async with Client(server) as client:
        while True:  # once at least, however long it took to connect
            sent = time.perf_counter()
            reply = await client.post(PREDICT, next(bodies))
            result.statuses[reply.status] += 1
            result.latencies.append(time.perf_counter() - sent)
            if time.perf_counter() >= until:
                return
            if reply.status == 429:
                await asyncio.sleep(0.1)  # a second is what it asks for, and too long for a benchmark


async def _fetch_texts_per_pass(server: ServerProcess) -> float:
    async with Client(server) as client:
        shown = (await client.get("/metrics")).body.decode()
    total, passes = (
        float(re.findall(rf"^seq2set_batch_texts_{name} (\S+)$", shown, re.MULTILINE)[0])
        for name in ("sum", "count")
    )
    return round(total / passes, 1)
