"""Honest clients of a server while four attacks run at once.

Rounds without and with attacks take turns on one server, because a busy machine slows whatever runs at that
moment. The server must lose nothing that honest clients send, keep the time within which 99 of 100 of their
requests are answered within twice what it is without attacks, and hold no more memory and files afterwards.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seq2set.benchmarks.inputs import make_texts, open_model
from seq2set.benchmarks.ratio import format_values
from seq2set.benchmarks.serving.attacks import PREDICT, Attackers, start_attackers
from seq2set.benchmarks.serving.serve import Client, ServerAddress, ServerProcess, start_server
from seq2set.benchmarks.serving.soak import ActionResult, give_feedback

SLOWER = 2.0
"""How many times as long 99 of 100 honest requests may take while attacks run."""
LIMIT = 0.05
"""By which share the memory may grow from the first round of attacks to the last."""


@dataclass
class HostileResult:
    """What honest clients saw, and what the server held."""

    seconds: float
    quiet: list[float] = field(default_factory=list)
    """Seconds that each honest request took without attacks"""
    attacked: list[float] = field(default_factory=list)
    attacks: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    """What honest clients were answered that is not what they asked for"""
    acknowledged: set[int] = field(default_factory=set)
    lost: int = 0
    memory: list[int] = field(default_factory=list)
    """The server's memory in bytes after each round of attacks"""
    files: list[int] = field(default_factory=list)
    """Its open files and sockets before the attacks, and after each round"""

    @property
    def slower(self) -> float:
        """How many times as long 99 of 100 honest requests took."""
        return float(np.percentile(self.attacked, 99) / np.percentile(self.quiet, 99))

    @property
    def drift(self) -> float:
        """By which share the memory grew."""
        return self.memory[-1] / self.memory[0] - 1

    @property
    def passed(self) -> bool:
        """Whether nothing was lost, and honest clients had to wait a little at most."""
        flat = self.drift <= LIMIT and self.files[-1] <= self.files[0]
        return flat and not self.wrong and not self.lost and self.slower <= SLOWER

    @property
    def failure(self) -> str | None:
        """Why the command fails, if it does."""
        return None if self.passed else "the attacks were felt: honest clients waited or lost, or memory grew"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `bench --json` prints."""
        sides = {"quiet": self.quiet, "attacked": self.attacked}
        return {
            "name": "hostile",
            "seconds": self.seconds,
            "p99_ms": {name: _measure(side, 99) for name, side in sides.items()},
            "p50_ms": {name: _measure(side, 50) for name, side in sides.items()},
            "slower": round(self.slower, 2),
            "requests": {name: len(side) for name, side in sides.items()},
            "attacks": dict(self.attacks),
            "wrong": dict(self.wrong),
            "feedback": {"acknowledged": len(self.acknowledged), "lost": self.lost},
            "memory": {"bytes": self.memory, "drift": round(self.drift, 4), "limit": LIMIT},
            "files": self.files,
            "passed": self.passed,
        }

    def summarize(self) -> str:
        """Return the lines that `bench` prints."""
        p99, requests = self.to_dict()["p99_ms"], len(self.quiet) + len(self.attacked)
        megabytes = ", ".join(f"{one / 2**20:.0f}" for one in self.memory)
        end = "passed" if self.passed else "FAILED"
        return (
            f"hostile: {requests:,} honest requests, p99 {p99['attacked']:g} ms under attack against "
            f"{p99['quiet']:g} ms ({self.slower:.2f} times); attacks (times): "
            f"{format_values(self.attacks)}; wrong answers: {format_values(self.wrong) or 'none'}; feedback "
            f"{len(self.acknowledged):,} acknowledged and {self.lost} lost; memory {megabytes} MB "
            f"({self.drift:+.1%}); files {', '.join(map(str, self.files))}: {end}"
        )


def _measure(latencies: Sequence[float], share: int) -> float:
    return round(float(np.percentile(latencies, share)) * 1000, 1)


def run_hostile(
    seconds: float = 60.0,
    *,
    model: Path | None = None,
    clients: int = 4,
    rounds: int = 3,
    settings: Sequence[str] = (),
) -> HostileResult:
    """Attack for some seconds in all, and send honest requests for as long without attacks."""
    result = HostileResult(seconds)
    with open_model(model, settings) as (chosen, folder):
        database = folder / "feedback.sqlite"
        with (
            start_server(chosen, "--feedback", str(database), "--answer-seconds", "10") as server,
            start_attackers(ServerAddress(server.host, server.port)) as attackers,
        ):
            asyncio.run(_warm_up(server))
            for _ in range(rounds):
                _run_both(server, attackers, result, clients, seconds / rounds)
        with closing(sqlite3.connect(database)) as connection:  # the server was killed
            kept = {number for (number,) in connection.execute("SELECT id FROM feedback")}
        result.lost = len(result.acknowledged - kept)
    return result


def _run_both(
    server: ServerProcess, attackers: Attackers, result: HostileResult, clients: int, seconds: float
) -> None:
    asyncio.run(_run_round(server, result, result.quiet, clients, seconds))
    result.files = result.files or [server.count_files()]
    attackers.begin(seconds)
    asyncio.run(_run_round(server, result, result.attacked, clients, seconds))
    result.attacks += attackers.finish()
    result.files.append(_count_files_at_rest(server, result.files[0]))
    result.memory.append(server.read_memory())


async def _warm_up(server: ServerProcess) -> None:
    async with Client(server) as client:
        for text in make_texts(8):
            await client.post(PREDICT, json.dumps({"text": text}).encode())


def _count_files_at_rest(server: ServerProcess, before: int) -> int:
    """Count open files once the server has noticed that clients are gone, or after a minute."""
    until = time.monotonic() + 60
    while (found := server.count_files()) > before and time.monotonic() < until:
        time.sleep(0.2)
    return found


async def _run_round(
    server: ServerProcess,
    result: HostileResult,
    latencies: list[float],
    clients: int,
    seconds: float,
) -> None:
    until = time.perf_counter() + seconds
    texts = itertools.cycle(make_texts(64))
    await asyncio.gather(*(_ask(server, texts, until, result, latencies) for _ in range(clients)))


async def _ask(
    server: ServerProcess, texts: Iterator[str], until: float, result: HostileResult, latencies: list[float]
) -> None:
    """Send one request after the other, each from a new connection, and feedback now and then."""
    for number in itertools.count():
        action = give_feedback if number % 4 == 3 else _predict
        began = time.perf_counter()
        try:
            async with Client(server) as client:
                answer = await asyncio.wait_for(action(client, next(texts)), 60)
        except (OSError, EOFError, asyncio.TimeoutError) as error:
            result.wrong[f"{action.__name__}: {type(error).__name__}"] += 1
        else:
            if answer.status not in (200, 201):
                result.wrong[f"{action.__name__}: {answer.status}"] += 1
            if answer.feedback is not None:
                result.acknowledged.add(answer.feedback)
        latencies.append(time.perf_counter() - began)
        if time.perf_counter() >= until and len(latencies) > 8:
            return
        await asyncio.sleep(0.05)  # people pause; a closed loop would be an attack of its own


async def _predict(client: Client, text: str) -> ActionResult:
    return ActionResult((await client.post(PREDICT, json.dumps({"text": text}).encode())).status)
