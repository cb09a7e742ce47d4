"""Attacks on a server, in a process of their own, so that what they cost holds up no honest client."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress

from seq2set.benchmarks.serving.serve import PREDICT, Client, ServerAddress, format_head

_KEPT = 60
"""How many connections the stalled attack holds at a time."""

Attack = Callable[[ServerAddress], Awaitable[object]]


class _Attacker(Client):
    """A client that does not wait until what it sent is read."""

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()


async def send_many_values(server: ServerAddress) -> None:
    """Send a body of eight million bytes, each second of which is a value."""
    async with _Attacker(server) as client:
        await client.post(PREDICT, b'{"texts": [' + b"1," * 4_000_000 + b"1]}")


async def ask_for_all_reasons(server: ServerAddress) -> None:
    """Ask for the reasons of every label of 64 long texts, and leave."""
    body = _make_long_request()
    async with _Attacker(server) as client:
        client.writer.write(format_head("POST", PREDICT, "application/json", len(body)) + body)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(client.read_reply(), 0.5)


@functools.cache
def _make_long_request() -> bytes:
    texts = [f"{number} " + "wheat and oil " * 7_000 for number in range(64)]
    return json.dumps({"texts": texts, "explain": True, "candidates": 1000}).encode()


async def send_many_columns(server: ServerAddress) -> None:
    """Send a table of 20,000 columns."""
    names = ",".join(["text", *map(str, range(20_000))])
    async with _Attacker(server) as client:
        await client.post("/v1/batch", f"{names}\n".encode(), "text/csv")


async def stall(server: ServerAddress) -> None:
    """Hold connections open: some with half a body, some that never read their answers."""
    async with AsyncExitStack() as held:
        for number in range(_KEPT):
            client = await held.enter_async_context(_Attacker(server))
            half = format_head("POST", PREDICT, "application/json", 10**6) + b" " * 500_000
            client.writer.write(half if number % 2 else format_head("GET", "/v1/model", "text/plain", 0) * 4)
        await asyncio.sleep(5)


ATTACKS: tuple[Attack, ...] = (send_many_values, ask_for_all_reasons, send_many_columns, stall)


class Attackers:
    """All attacks at once, as often as they are begun."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process

    def begin(self, seconds: float) -> None:
        """Attack for some seconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()

    def finish(self) -> Counter[str]:
        """Wait for the end, and return how often each attack was made."""
        assert self._process.stdout is not None
        return Counter(json.loads(self._process.stdout.readline()))


@contextmanager
def start_attackers(server: ServerAddress) -> Iterator[Attackers]:
    """Start the process that attacks, and kill it in the end."""
    command = [sys.executable, "-m", __name__, server.host, str(server.port)]
    # What is run is this very module.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it is there
            yield Attackers(process)
        finally:
            process.kill()


async def attack(server: ServerAddress, seconds: float) -> Counter[str]:
    """Repeat all attacks at once, and count them."""
    made: Counter[str] = Counter()
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.gather(*(_repeat(one, server, made) for one in ATTACKS)), seconds)
    await asyncio.sleep(0.1)  # lets go of connections
    return made


async def _repeat(one: Attack, server: ServerAddress, made: Counter[str]) -> None:
    while True:
        made[one.__name__] += 1
        with suppress(OSError, EOFError):  # the server may well hang up
            await one(server)
        await asyncio.sleep(0.05)


def main() -> None:
    """Attack whenever a line says for how long."""
    server = ServerAddress(sys.argv[1], int(sys.argv[2]))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(asyncio.run(attack(server, float(line)))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
