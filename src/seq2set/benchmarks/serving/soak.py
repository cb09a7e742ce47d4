"""A soak of the server: thousands of requests, many of them faulty.

The server must answer each as expected, hold no more memory at the end than after the first fifth, and have
all feedback that it acknowledged in its database after it was killed.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seq2set.benchmarks.inputs import make_texts, open_model
from seq2set.benchmarks.ratio import format_values
from seq2set.benchmarks.serving.serve import PREDICT, Client, Reply, ServerProcess, format_head, start_server

Action = Callable[[Client, str], Awaitable[Reply | None]]
"""Does something with a text; gives the answer, or None where the client does not wait for one."""


async def predict(client: Client, text: str) -> Reply:
    """Request labels with their evidence."""
    body = json.dumps({"text": text, "explain": True, "candidates": 10}).encode()
    return await client.post(PREDICT, body)


async def give_feedback(client: Client, text: str) -> Reply:
    """Send feedback on a text."""
    return await client.post("/v1/feedback", json.dumps({"text": text, "added": ["a", "b"]}).encode())


async def search_labels(client: Client, text: str) -> Reply:
    """Search the labels."""
    return await client.get(f"/v1/labels?query={text[:2]}")


async def send_file(client: Client, text: str) -> Reply:
    """Send a small file to be labelled."""
    rows = "".join(f"{number},{text}\n" for number in range(5))
    return await client.post("/v1/batch", f"id,text\n{rows}".encode(), "text/csv")


async def hang_up_after_sending(client: Client, text: str) -> None:
    """Leave without waiting for the answer."""
    body = json.dumps({"text": text}).encode()
    client.writer.write(format_head("POST", PREDICT, "application/json", len(body)) + body)
    await client.writer.drain()


async def hang_up_while_sending(client: Client, text: str) -> None:
    """Leave in the middle of the body."""
    client.writer.write(format_head("POST", "/v1/batch", "text/csv", 10_000) + text.encode())
    await client.writer.drain()


async def hang_up_while_reading(client: Client, text: str) -> None:
    """Leave in the middle of the results."""
    rows = f"text\n{text}\n" * 50
    client.writer.write(format_head("POST", "/v1/batch", "text/csv", len(rows)) + rows.encode())
    await client.reader.read(1)


async def send_too_much(client: Client, text: str) -> Reply:
    """Send more than is allowed, without saying beforehand how much it is."""
    first = format_head("POST", PREDICT, "application/json", 0).replace(
        b"Content-Length: 0", b"Transfer-Encoding: chunked"
    )
    block = (text.encode() * 65_536)[:65_536]  # 40 of them are too much, however short the text is
    client.writer.write(first)
    for _ in range(40):
        client.writer.write(b"%x\r\n%s\r\n" % (len(block), block))
    return await client.read_reply()


async def send_too_long_a_text(client: Client, text: str) -> Reply:
    """Send a text that is longer than allowed."""
    return await client.post(PREDICT, json.dumps({"text": text * 1_000}).encode())


async def send_invalid_utf8(client: Client, text: str) -> Reply:
    """Send bytes that are no text."""
    return await client.post(PREDICT, b'{"text": "%s\xff\xfe"}' % text.encode())


async def send_deep_json(client: Client, text: str) -> Reply:  # noqa: ARG001
    """Send lists inside lists."""
    return await client.post(PREDICT, b'{"text": ' + b"[" * 50_000)


async def send_slowly(client: Client, text: str) -> Reply:
    """Send a byte now and then, and never come to an end."""
    client.writer.write(format_head("POST", PREDICT, "application/json", 10_000))

    async def drip() -> None:
        for byte in text.encode():
            client.writer.write(bytes([byte]))
            await asyncio.sleep(0.1)

    sending = asyncio.create_task(drip())
    try:
        return await client.read_reply()
    finally:
        sending.cancel()


async def send_no_http(client: Client, text: str) -> Reply:
    """Send something that is not HTTP."""
    client.writer.write(text.encode() + b"\r\n\r\n")
    return await client.read_reply()


ACTIONS: dict[Action, tuple[int, tuple[int, ...]]] = {
    predict: (40, (200, 429)),
    give_feedback: (20, (201,)),
    search_labels: (4, (200,)),
    send_file: (2, (200, 429)),
    hang_up_after_sending: (10, ()),
    hang_up_while_sending: (4, ()),
    hang_up_while_reading: (2, ()),
    send_too_much: (3, (413,)),
    send_too_long_a_text: (3, (413,)),
    send_invalid_utf8: (4, (400,)),
    send_deep_json: (4, (400, 422)),
    send_slowly: (1, (408,)),
    send_no_http: (3, (400,)),
}
"""The actions: how many of a hundred requests each makes up, and the statuses it may be answered with."""

LIMIT = 0.05
"""By which share the memory may grow."""

SETTLING = 0.2
"""The share of the requests after which the memory is first measured."""

_OPTIONS = ("--body-seconds", "1", "--max-body-bytes", "1000000", "--max-text-chars", "50000")


@dataclass(kw_only=True)
class StrainCounts:
    """What clients of a server under strain saw, and what it held."""

    wrong: Counter[str] = field(default_factory=Counter)
    """Answers that were not among those expected, or that did not come"""
    acknowledged: set[int] = field(default_factory=set)
    lost: int = 0
    memory: list[int] = field(default_factory=list)
    """The server's memory in bytes, from the first measurement to the last"""

    @property
    def drift(self) -> float:
        """By which share the memory grew."""
        return self.memory[-1] / self.memory[0] - 1

    def to_dict(self) -> dict[str, Any]:
        """Return the part of the object that `bench --json` prints."""
        return {
            "wrong": dict(self.wrong),
            "feedback": {"acknowledged": len(self.acknowledged), "lost": self.lost},
            "memory": {"bytes": self.memory, "drift": round(self.drift, 4), "limit": LIMIT},
        }

    def describe(self) -> str:
        """Return the part of the line that `bench` prints."""
        megabytes = ", ".join(f"{one / 2**20:.0f}" for one in self.memory)
        return (
            f"wrong answers: {format_values(self.wrong) or 'none'}; feedback {len(self.acknowledged):,} "
            f"acknowledged and {self.lost} lost; memory {megabytes} MB ({self.drift:+.1%})"
        )

    async def act(
        self, server: ServerProcess, action: Action, text: str, expected: Collection[int]
    ) -> Reply | None:
        """Let a client act on a new connection, and count what went wrong; None where no answer came."""
        name = action.__name__
        try:
            async with Client(server) as client:
                reply = await asyncio.wait_for(action(client, text), 60)
        except (OSError, EOFError, asyncio.TimeoutError) as error:
            self.wrong[f"{name}: {type(error).__name__}"] += 1
            return None
        if reply is not None and reply.status not in expected:
            self.wrong[f"{name}: {reply.status}"] += 1
        if reply is not None and action is give_feedback and reply.status == 201:
            self.acknowledged.add(json.loads(reply.body)["id"])
        return reply

    def count_lost(self, database: Path) -> None:
        """Count the acknowledged feedback that a server left out of its database when it was killed."""
        with closing(sqlite3.connect(database)) as connection:
            kept = {number for (number,) in connection.execute("SELECT id FROM feedback")}
        self.lost = len(self.acknowledged - kept)


@dataclass
class Soak(StrainCounts):
    """The findings of a soak; the memory is that after settling, halfway from there, and in the end."""

    requests: int
    actions: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def passed(self) -> bool:
        """Whether nothing was lost, leaked or answered wrongly."""
        fine = not self.wrong and not self.lost and not any(status >= 500 for status in self.statuses)
        return fine and self.drift <= LIMIT

    @property
    def failure(self) -> str | None:
        """Why the command fails, if it does."""
        sentence = "the soak failed: the server lost, leaked or wrongly answered something"
        return None if self.passed else sentence

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `bench --json` prints."""
        return {
            "name": "soak",
            "requests": self.requests,
            "acts": dict(self.actions),
            "statuses": dict(sorted(self.statuses.items())),
            **super().to_dict(),
            "passed": self.passed,
        }

    def summarize(self) -> str:
        """Return the line that `bench` prints."""
        statuses = format_values(dict(sorted(self.statuses.items())))
        end = "passed" if self.passed else "FAILED"
        return f"soak: {self.requests:,} requests, statuses (times): {statuses}; {self.describe()}: {end}"


def run_soak(
    requests: int = 10_000,
    *,
    model: Path | None = None,
    clients: int = 16,
    settings: Sequence[str] = (),
    seed: int = 1,
) -> Soak:
    """Send requests and faults from several clients at once; without a model, one with random weights."""
    soak = Soak(requests)
    with open_model(model, settings) as (chosen, folder):
        database = folder / "feedback.sqlite"
        with start_server(chosen, "--feedback", str(database), *_OPTIONS) as server:
            shares = [share for share, _ in ACTIONS.values()]
            actions = random.Random(seed).choices(list(ACTIONS), shares, k=requests)
            settling = round(SETTLING * requests)
            middle = (settling + requests) // 2
            for part in (actions[:settling], actions[settling:middle], actions[middle:]):
                asyncio.run(_send_all(server, part, clients, soak))
                soak.memory.append(server.read_memory())
        soak.count_lost(database)
    return soak


async def _send_all(server: ServerProcess, actions: Sequence[Action], clients: int, soak: Soak) -> None:
    texts = make_texts(64)
    waiting = iter(enumerate(actions))
    await asyncio.gather(*(_run_client(server, waiting, texts, soak) for _ in range(clients)))


async def _run_client(
    server: ServerProcess, waiting: Iterator[tuple[int, Action]], texts: Sequence[str], soak: Soak
) -> None:
    for number, action in waiting:
        soak.actions[action.__name__] += 1
        reply = await soak.act(server, action, texts[number % len(texts)], ACTIONS[action][1])
        if reply is not None:
            soak.statuses[reply.status] += 1
