"""Honest clients of a server while four attacks run at once.

Rounds without and with attacks take turns on one server, because a busy machine slows whatever runs at that
moment. The server must lose nothing that honest clients send, keep the time within which 99 of 100 of their
requests are answered within twice what it is without attacks, and hold no more memory and files afterwards.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seq2set.benchmarks.inputs import make_texts, open_model
from seq2set.benchmarks.ratio import format_values
from seq2set.benchmarks.serving.attacks import Attackers, start_attackers
from seq2set.benchmarks.serving.serve import (
    PREDICT,
    Client,
    Reply,
    ServerAddress,
    ServerProcess,
    start_server,
)
from seq2set.benchmarks.serving.soak import LIMIT, StrainCounts, give_feedback

SLOWER = 2.0
"""How many times as long 99 of 100 honest requests may take while attacks run."""


@dataclass
class HostileResult(StrainCounts):
    """What honest clients saw, and what the server held; its memory is that after each round of attacks."""

    seconds: float
    quiet: list[float] = field(default_factory=list)
    """Seconds that each honest request took without attacks"""
    attacked: list[float] = field(default_factory=list)
    attacks: Counter[str] = field(default_factory=Counter)
    files: list[int] = field(default_factory=list)
    """Its open files and sockets before the attacks, and after each round"""

    @property
    def slower(self) -> float:
        """How many times as long 99 of 100 honest requests took."""
        return float(np.percentile(self.attacked, 99) / np.percentile(self.quiet, 99))

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
            **super().to_dict(),
            "files": self.files,
            "passed": self.passed,
        }

    def summarize(self) -> str:
        """Return the lines that `bench` prints."""
        p99, requests = self.to_dict()["p99_ms"], len(self.quiet) + len(self.attacked)
        files, end = ", ".join(map(str, self.files)), "passed" if self.passed else "FAILED"
        return (
            f"hostile: {requests:,} honest requests, p99 {p99['attacked']:g} ms under attack against "
            f"{p99['quiet']:g} ms ({self.slower:.2f} times); attacks (times): "
            f"{format_values(self.attacks)}; {self.describe()}; files {files}: {end}"
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
        result.count_lost(database)
    return result


def _run_both(
    server: ServerProcess, attackers: Attackers, result: HostileResult, clients: int, seconds: float
) -> None:
    asyncio.run(_run_round(server, result, result.quiet, clients, seconds))
    result.files = result.files or [server.count_files()]
    attackers.begin(seconds)
    asyncio.run(_run_round(server, result, result.attacked, clients, seconds))
    result.attacks += attackers.finish()
    until = time.monotonic() + 60  # within which the server notices that clients are gone
    while (files := server.count_files()) > result.files[0] and time.monotonic() < until:
        time.sleep(0.2)
    result.files.append(files)
    result.memory.append(server.read_memory())


async def _warm_up(server: ServerProcess) -> None:
    async with Client(server) as client:
        for text in make_texts(8):
            await client.post(PREDICT, json.dumps({"text": text}).encode())


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
        await result.act(server, action, next(texts), (200, 201))
        latencies.append(time.perf_counter() - began)
        if time.perf_counter() >= until and len(latencies) > 8:
            return
        await asyncio.sleep(0.05)  # people pause; a closed loop would be an attack of its own


async def _predict(client: Client, text: str) -> Reply:
    return await client.post(PREDICT, json.dumps({"text": text}).encode())
