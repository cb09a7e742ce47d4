"""Concurrent clients of a server, requests that share forward passes against one at a time.

Both servers run as users start them, on the same model, and are asked in turns by the same clients over
loopback. The same run then sends far more than the queue holds: what is refused must be refused with 429.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2set.benchmarks.ratio import Ratio
from seq2set.benchmarks.serve_model import save_made_model
from seq2set.benchmarks.serve_process import Client, ServerProcess, server_process
from seq2set.benchmarks.texts import zipf_texts

QUEUE = 64
OVERLOAD = 4 * QUEUE
"""So many clients send at once to a queue that holds a quarter of them."""


class Load(NamedTuple):
    """How a server did under load."""

    seconds: float
    latencies: list[float]
    statuses: Counter[int]

    @property
    def a_request(self) -> float:
        """The seconds that a request took, all clients together."""
        return self.seconds / max(1, self.statuses[200])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures to show."""
        p50, p99 = np.percentile(self.latencies, [50, 99]) * 1000
        return {
            "requests_a_second": round(1 / self.a_request, 1),
            "p50_ms": round(float(p50), 1),
            "p99_ms": round(float(p99), 1),
            "statuses": dict(sorted(self.statuses.items())),
        }


def run(
    documents: int = 256,
    *,
    model: Path | None = None,
    clients: int = 32,
    seconds: float = 5.0,
    rounds: int = 2,
    settings: Sequence[str] = (),
) -> Ratio:
    """Let `clients` send texts for some seconds a side and round; without a model, one is made up."""
    texts = zipf_texts(documents)
    with tempfile.TemporaryDirectory() as folder:
        if model is None:
            save_made_model(Path(folder) / "model", settings)
        chosen = model or Path(folder) / "model"
        with (
            server_process(chosen, "--queue", str(QUEUE)) as batched,
            server_process(chosen, "--max-batch", "1", "--window-ms", "0") as single,
        ):
            best = _in_turns((batched, single), texts, clients, seconds, rounds)
            overload = asyncio.run(load(batched, texts, OVERLOAD, seconds))
            mean = asyncio.run(_texts_a_pass(batched))
    checks = {"batched": best[0].to_dict(), "one_by_one": best[1].to_dict(), "texts_a_pass": mean}
    checks |= {"overload": {"clients": OVERLOAD, "queue": QUEUE} | overload.to_dict()}
    shapes = {"documents": documents, "clients": clients, "words": 130, "model": str(model or "made up")}
    return Ratio("serve", "one text a pass", best[0].a_request, best[1].a_request, shapes, checks)


def _in_turns(
    servers: Sequence[ServerProcess], texts: Sequence[str], clients: int, seconds: float, rounds: int
) -> list[Load]:
    found: list[list[Load]] = [[] for _ in servers]
    for server in servers:
        asyncio.run(load(server, texts, clients, min(1.0, seconds)))  # the first requests are slower
    for _ in range(rounds):
        for side, server in enumerate(servers):
            found[side].append(asyncio.run(load(server, texts, clients, seconds)))
    return [min(side, key=lambda one: one.a_request) for side in found]


async def load(server: ServerProcess, texts: Sequence[str], clients: int, seconds: float) -> Load:
    """Let clients send one text after the other, each as soon as it has its answer."""
    result = Load(0.0, [], Counter())
    bodies = itertools.cycle([json.dumps({"text": text}).encode() for text in texts])
    began = time.perf_counter()
    await asyncio.gather(*(_send(server, bodies, began + seconds, result) for _ in range(clients)))
    return result._replace(seconds=time.perf_counter() - began)


async def _send(server: ServerProcess, bodies: Iterator[bytes], until: float, result: Load) -> None:
    async with Client(server) as client:
        while True:  # once at least, however long it took to connect
            sent = time.perf_counter()
            reply = await client.post("/v1/predict", next(bodies))
            result.statuses[reply.status] += 1
            result.latencies.append(time.perf_counter() - sent)
            if time.perf_counter() >= until:
                return
            if reply.status == 429:
                await asyncio.sleep(0.1)  # a second is what it asks for, and too long for a benchmark


async def _texts_a_pass(server: ServerProcess) -> float:
    async with Client(server) as client:
        shown = (await client.get("/metrics")).body.decode()
    total, passes = (
        float(re.findall(rf"^seq2set_batch_texts_{name} (\S+)$", shown, re.MULTILINE)[0])
        for name in ("sum", "count")
    )
    return round(total / passes, 1)
