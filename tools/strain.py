"""What a single request can do to a server, and how long a server takes to end under load.

Usage: python tools/strain.py [requests] [stops] [--only WORDS] [--times 20] [--model RUN] [--busy 8]

Each request is sent alone, to a server of its own, by a client in another process, while `/healthz` is asked
all the while. What it took is compared with what `/healthz` takes beside a small request, on the same machine
at the same time; `--only "reasons"` sends those whose names have these words. Then a server is told to stop
(SIGTERM), again and again, while clients send whatever they like.

Memory is what each process of the server had at most, above what it had when it had answered small requests
for two seconds; the front's comes first, then that of its model processes.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seq2set.benchmarks.inputs import open_model
from seq2set.benchmarks.serving.attacks import (
    PREDICT,
    ask_for_all_reasons,
    send_many_columns,
    start_attackers,
)
from seq2set.benchmarks.serving.serve import Client, ServerAddress, ServerProcess, start_server

Send = Callable[[ServerAddress], Awaitable[object]]


async def send_small(server: ServerAddress) -> None:
    """Send what everybody sends, as often as there is time for."""
    until = time.monotonic() + 2
    async with Client(server) as client:
        while time.monotonic() < until:
            await client.post(PREDICT, b'{"text": "wheat and oil"}')


async def send_body(
    server: ServerAddress, body: bytes, path: str = PREDICT, kind: str = "application/json"
) -> None:
    """Send one body and wait for its answer."""
    async with Client(server) as client:
        await client.post(path, body, kind)


KEYS = b'{"text": "a"' + b"".join(b', "k%d": 1' % number for number in range(550_000)) + b"}"
LONG = b'{"texts": ["' + b'", "'.join([b"wheat oil " * 9_900] * 64) + b'"]}'
MIDDLE = b'{"texts": ["' + b'", "'.join([b"wheat oil " * 1_650] * 64) + b'"]}'
CHINESE = b'{"texts": ["' + b'", "'.join(["麦,".encode() * 31_000] * 64) + b'"]}'
WIDE = b'{"texts": ["' + b'", "'.join([b"wheat oil " * 9_900 + "😀".encode()] * 64) + b'"]}'
SHORT = b'{"texts": ["' + b'", "'.join([b"wheat oil " * 150] * 64) + b'"]}'
KNOWN = " ".join(f"w{number}" for number in range(300))  # words of a made model
REASONS = b'"explain": true, "top_k": 8, '
BODIES = {
    "8 MB of values": b'{"texts": [' + b"1," * 4_000_000 + b"1]}",
    "8 MB of unknown keys": KEYS,
    "8 MB of brackets": b"[" * 8_000_000,
    "8 MB in one text": b'{"text": "' + b"a" * 8_000_000 + b'"}',
    "64 texts of 99,000 characters": LONG,
    "the same with an emoji each": WIDE,
    "64 texts of a word per character": CHINESE,
    "64 texts of 16,500 characters": MIDDLE,
    "64 texts of 1,500 characters": SHORT,
    "the same with reasons": SHORT.replace(b"{", b"{" + REASONS),
    "much to answer": json.dumps({"texts": [KNOWN] * 64, "explain": True, "candidates": 1000}).encode(),
    "reasons of 49,500 words": b"{" + REASONS + b'"text": "' + b"a " * 49_500 + b'"}',
}
UPLOADS = {
    "0.1 MB of CSV": b"id,text\n" + b"".join(b"%d,%s\n" % (row, b"wheat oil " * 49) for row in range(200)),
    "1 MB of CSV": b"id,text\n" + b"".join(b"%d,%s\n" % (row, b"wheat oil " * 9_900) for row in range(10)),
}
REQUESTS: dict[str, tuple[Send, int]] = {"a small one": (send_small, 0)}
REQUESTS |= {name: (functools.partial(send_body, body=body), len(body)) for name, body in BODIES.items()}
REQUESTS |= {
    name: (functools.partial(send_body, body=body, path="/v1/batch", kind="text/csv"), len(body))
    for name, body in UPLOADS.items()
}
REQUESTS |= {
    "reasons of all labels": (ask_for_all_reasons, 6_300_000),
    "a table of 20,000 columns": (send_many_columns, 110_000),
}


class Seen(NamedTuple):
    """What one request did."""

    slowest: float
    """The slowest answer of `/healthz`, in seconds"""
    p99: float
    memory: list[int]
    """By how many bytes its processes grew, each of them at its worst moment"""


class Memory:
    """What the processes of a server take, from the moment on when this is made."""

    def __init__(self, server: ServerProcess):
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
        self._folders = [Path(f"/proc/{pid}") for pid in (server.process.pid, *children.split())]
        for folder in self._folders:
            (folder / "clear_refs").write_text("5")  # the peak begins anew
        self._before = self._read("VmRSS:")

    def measure_growth(self) -> list[int]:
        """Return by how many bytes the peak of each process lies above what it had."""
        return [now - before for now, before in zip(self._read("VmHWM:"), self._before, strict=True)]

    def _read(self, name: str) -> list[int]:
        lines = [line.split() for one in self._folders for line in (one / "status").read_text().splitlines()]
        return [1024 * int(line[1]) for line in lines if line[0] == name]


async def watch(server: ServerProcess, request: subprocess.Popen[bytes]) -> Seen:
    """Ask `/healthz` until the process that sends the request has ended, and two seconds longer."""
    memory, took, until = Memory(server), list[float](), float("inf")
    async with Client(server) as client:
        while time.monotonic() < until:
            began = time.perf_counter()
            await client.get("/healthz")
            took.append(time.perf_counter() - began)
            if request.poll() is not None and until == float("inf"):
                until = time.monotonic() + 2
            await asyncio.sleep(0.005)
    return Seen(max(took), float(np.percentile(took, 99)), memory.measure_growth())


def strain_server(model: Path, only: str) -> None:
    """Send each request alone, and print what it did."""
    for name, (_, size) in REQUESTS.items():
        if only not in name:
            continue
        with start_server(model) as server:
            address = [server.host, str(server.port)]
            asyncio.run(send_small(ServerAddress(server.host, server.port)))  # the first ones are slower
            command = [sys.executable, __file__, "--send", name, *address]
            with subprocess.Popen(command) as request:
                seen = asyncio.run(watch(server, request))
        grown = sum(seen.memory)
        times = f", {grown / size:.1f} times its body" if size else ""
        parts = " ".join(f"{one / 2**20:+.1f}" for one in seen.memory)
        print(
            f"{name:30} /healthz at most {seen.slowest * 1000:4.0f} ms, p99 {seen.p99 * 1000:4.0f} ms; "
            f"memory {grown / 2**20:+.1f} MB{times} ({parts})",
            flush=True,
        )


def stop_server(model: Path, times: int, busy: int) -> None:
    """Tell a server under attack to stop, so many times, and print how long the longest took."""
    took, codes = [], set()
    for number in range(times):
        with (
            start_server(model, "--shutdown-seconds", "2") as server,
            start_attackers(ServerAddress(server.host, server.port)) as attackers,
            run_busy_processes(busy),
        ):
            attackers.begin(60)
            time.sleep(1 + number * 0.2)  # at another moment each time
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            codes.add(server.process.wait())
            took.append(time.monotonic() - began)
        print(f"SIGTERM {number + 1}: {took[-1]:.2f} s", flush=True)
    print(
        f"SIGTERM under attack with --shutdown-seconds 2, {times} times: the longest {max(took):.2f} s, the "
        f"median {np.median(took):.2f} s; exit codes {sorted(codes)}",
        flush=True,
    )


@contextmanager
def run_busy_processes(count: int) -> Iterator[None]:
    """Keep processes running that never rest."""
    command = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def main() -> None:
    """Strain a server with single requests, then stop others."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=["requests", "stops", []], help="both by default")
    parser.add_argument("--only", default="", metavar="WORDS", help="requests whose names have these words")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--busy", type=int, default=0, help="processes that never rest beside the stops")
    parser.add_argument("--send", nargs=3, metavar=("NAME", "HOST", "PORT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.send:
        name, host, port = options.send
        asyncio.run(REQUESTS[name][0](ServerAddress(host, int(port))))  # type: ignore[arg-type]
        return
    with open_model(options.model, ()) as (model, _):
        if "requests" in (options.parts or ["requests"]):
            strain_server(model, options.only)
        if "stops" in (options.parts or ["stops"]):
            stop_server(model, options.times, options.busy)


if __name__ == "__main__":
    main()
