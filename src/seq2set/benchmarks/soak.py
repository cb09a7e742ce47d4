"""What clients do to a server in a soak: what they should, and everything that they should not.

A soak of the server: thousands of requests, many of them faulty, and what they leave behind.

It must answer every one of them as it should, hold no more memory at the end than after the first fifth, and
have all feedback that it acknowledged in its database after it was killed.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.benchmarks.inputs import save_made_model, zipf_texts
from seq2set.benchmarks.serve import Client, ServerProcess, head, server_process

PREDICT = "/v1/predict"


class Told(NamedTuple):
    """The end of one request: the status, or nothing where the client did not wait for one."""

    status: int | None
    feedback: int | None = None
    """The number of the feedback that was acknowledged"""


Act = Callable[[Client, str], Awaitable[Told]]


async def predict(client: Client, text: str) -> Told:
    """Ask for labels with their evidence."""
    body = json.dumps({"text": text, "explain": True, "candidates": 10}).encode()
    return Told((await client.post(PREDICT, body)).status)


async def give_feedback(client: Client, text: str) -> Told:
    """Say something of a text, and remember what was acknowledged."""
    reply = await client.post("/v1/feedback", json.dumps({"text": text, "added": ["a", "b"]}).encode())
    return Told(reply.status, json.loads(reply.body)["id"] if reply.status == 201 else None)


async def search_labels(client: Client, text: str) -> Told:
    """Look for labels."""
    return Told((await client.get(f"/v1/labels?query={text[:2]}")).status)


async def send_file(client: Client, text: str) -> Told:
    """Have a small file labelled."""
    rows = "".join(f"{number},{text}\n" for number in range(5))
    return Told((await client.post("/v1/batch", f"id,text\n{rows}".encode(), "text/csv")).status)


async def hang_up_after_sending(client: Client, text: str) -> Told:
    """Leave without waiting for the answer."""
    body = json.dumps({"text": text}).encode()
    client.writer.write(head("POST", PREDICT, "application/json", len(body)) + body)
    await client.writer.drain()
    return Told(None)


async def hang_up_while_sending(client: Client, text: str) -> Told:
    """Leave in the middle of the body."""
    client.writer.write(head("POST", "/v1/batch", "text/csv", 10_000) + text.encode())
    await client.writer.drain()
    return Told(None)


async def hang_up_while_reading(client: Client, text: str) -> Told:
    """Leave in the middle of the results."""
    rows = f"text\n{text}\n" * 50
    client.writer.write(head("POST", "/v1/batch", "text/csv", len(rows)) + rows.encode())
    await client.reader.read(1)
    return Told(None)


async def send_too_much(client: Client, text: str) -> Told:
    """Send more than is allowed, without saying beforehand how much it is."""
    first = head("POST", PREDICT, "application/json", 0).replace(
        b"Content-Length: 0", b"Transfer-Encoding: chunked"
    )
    block = (text.encode() * 65_536)[:65_536]  # 40 of them are too much, however short the text is
    client.writer.write(first)
    for _ in range(40):
        client.writer.write(b"%x\r\n%s\r\n" % (len(block), block))
    return Told((await client.reply()).status)


async def send_too_long_a_text(client: Client, text: str) -> Told:
    """Send a text that is longer than allowed."""
    return Told((await client.post(PREDICT, json.dumps({"text": text * 1_000}).encode())).status)


async def send_invalid_utf8(client: Client, text: str) -> Told:
    """Send bytes that are no text."""
    return Told((await client.post(PREDICT, b'{"text": "%s\xff\xfe"}' % text.encode())).status)


async def send_deep_json(client: Client, text: str) -> Told:  # noqa: ARG001
    """Send lists inside lists."""
    return Told((await client.post(PREDICT, b'{"text": ' + b"[" * 50_000)).status)


async def send_slowly(client: Client, text: str) -> Told:
    """Send a byte now and then, and never come to an end."""
    client.writer.write(head("POST", PREDICT, "application/json", 10_000))
    sending = asyncio.create_task(_drip(client, text.encode()))
    try:
        return Told((await client.reply()).status)
    finally:
        sending.cancel()


async def _drip(client: Client, body: bytes) -> None:
    for byte in body:
        client.writer.write(bytes([byte]))
        await asyncio.sleep(0.1)


async def send_no_http(client: Client, text: str) -> Told:
    """Send something that is not HTTP."""
    client.writer.write(text.encode() + b"\r\n\r\n")
    return Told((await client.reply()).status)


ACTS: dict[Act, int] = {
    predict: 40,
    give_feedback: 20,
    search_labels: 4,
    send_file: 2,
    hang_up_after_sending: 10,
    hang_up_while_sending: 4,
    hang_up_while_reading: 2,
    send_too_much: 3,
    send_too_long_a_text: 3,
    send_invalid_utf8: 4,
    send_deep_json: 4,
    send_slowly: 1,
    send_no_http: 3,
}
"""What is done, and how many times in a hundred."""

ANSWERS: dict[Act, set[int]] = {
    predict: {200, 429},
    give_feedback: {201},
    search_labels: {200},
    send_file: {200, 429},
    send_too_much: {413},
    send_too_long_a_text: {413},
    send_invalid_utf8: {400},
    send_deep_json: {400, 422},
    send_slowly: {408},
    send_no_http: {400},
}
"""How each may be answered."""


LIMIT = 0.05
"""By how much of itself the memory may grow."""

SETTLING = 0.2
"""The share of the requests after which the memory is first looked at."""

_OPTIONS = ("--body-seconds", "1", "--max-body-bytes", "1000000", "--max-text-chars", "50000")


@dataclass
class Soak:
    """What a soak found."""

    requests: int
    acts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    """Answers that were not among those expected, or that did not come"""
    acknowledged: set[int] = field(default_factory=set)
    lost: int = 0
    memory: list[int] = field(default_factory=list)
    """The server's memory in bytes: after settling, halfway from there, and in the end"""

    @property
    def drift(self) -> float:
        """By how much of itself the memory grew."""
        return self.memory[-1] / self.memory[0] - 1

    @property
    def passed(self) -> bool:
        """Whether all was well."""
        fine = not self.wrong and not self.lost and not any(status >= 500 for status in self.statuses)
        return fine and self.drift <= LIMIT

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `bench --json` prints."""
        return {
            "name": "soak",
            "requests": self.requests,
            "acts": dict(self.acts),
            "statuses": dict(sorted(self.statuses.items())),
            "wrong": dict(self.wrong),
            "feedback": {"acknowledged": len(self.acknowledged), "lost": self.lost},
            "memory": {"bytes": self.memory, "drift": round(self.drift, 4), "limit": LIMIT},
            "passed": self.passed,
        }

    def in_words(self) -> str:
        """Say how it went."""
        megabytes = ", ".join(f"{one / 2**20:.0f}" for one in self.memory)
        end = "passed" if self.passed else "FAILED"
        return (
            f"soak: {self.requests:,} requests, statuses {dict(sorted(self.statuses.items()))}, "
            f"wrong answers {dict(self.wrong)}, feedback {len(self.acknowledged):,} acknowledged and "
            f"{self.lost} lost, memory {megabytes} MB ({self.drift:+.1%}): {end}"
        )


def run(
    requests: int = 10_000,
    *,
    model: Path | None = None,
    clients: int = 16,
    settings: Sequence[str] = (),
    seed: int = 1,
) -> Soak:
    """Send requests and faults from several clients at once; without a model, one is made up."""
    soak = Soak(requests)
    with tempfile.TemporaryDirectory() as folder:
        if model is None:
            save_made_model(Path(folder) / "model", settings)
        database = Path(folder) / "feedback.sqlite"
        chosen = model or Path(folder) / "model"
        with server_process(chosen, "--feedback", str(database), *_OPTIONS) as server:
            acts = _drawn(requests, seed)
            settling = round(SETTLING * requests)
            middle = (settling + requests) // 2
            for part in (acts[:settling], acts[settling:middle], acts[middle:]):
                asyncio.run(_all(server, part, clients, soak))
                soak.memory.append(server.memory())
        with closing(sqlite3.connect(database)) as connection:  # the server was killed
            kept = {number for (number,) in connection.execute("SELECT id FROM feedback")}
        soak.lost = len(soak.acknowledged - kept)
    return soak


def _drawn(requests: int, seed: int) -> list[Act]:
    return random.Random(seed).choices(list(ACTS), list(ACTS.values()), k=requests)


async def _all(server: ServerProcess, acts: Sequence[Act], clients: int, soak: Soak) -> None:
    texts = zipf_texts(64)
    waiting = iter(enumerate(acts))
    await asyncio.gather(*(_client(server, waiting, texts, soak) for _ in range(clients)))


async def _client(
    server: ServerProcess, waiting: Iterator[tuple[int, Act]], texts: Sequence[str], soak: Soak
) -> None:
    for number, act in waiting:
        name = act.__name__
        soak.acts[name] += 1
        try:
            async with Client(server) as client:
                told = await asyncio.wait_for(act(client, texts[number % len(texts)]), 60)
        except (OSError, EOFError, asyncio.TimeoutError) as error:
            soak.wrong[f"{name}: {type(error).__name__}"] += 1
            continue
        if told.status is not None:
            soak.statuses[told.status] += 1
            if told.status not in ANSWERS[act]:
                soak.wrong[f"{name}: {told.status}"] += 1
        if told.feedback is not None:
            soak.acknowledged.add(told.feedback)
