"""A soak of the server: thousands of requests, many of them faulty, and what they leave behind.

It must answer every one of them as it should, hold no more memory at the end than after the first fifth, and
have all feedback that it acknowledged in its database after it was killed.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seq2set.benchmarks.serve_faults import ACTS, ANSWERS, Act
from seq2set.benchmarks.serve_model import save_made_model
from seq2set.benchmarks.serve_process import Client, ServerProcess, server_process
from seq2set.benchmarks.texts import zipf_texts

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
