"""Real servers on free ports of this machine, each in a thread, and what tests ask of them."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import httpx

from seq2set.models.predictions import Inference, Request
from seq2set.server.answers import Answerer
from seq2set.server.app import create_app
from seq2set.server.listen import Server, format_address, make_server, open_socket
from seq2set.server.metrics import ServerMetrics
from seq2set.server.model_process import TextBatch, answer_batch, read_answers, read_message
from seq2set.server.served_model import OpenedModel
from seq2set.server.settings import ServeSettings


@dataclass
class Watched:
    """A model that can be held up, and that remembers what it was asked."""

    tagger: Any
    passes: list[list[str]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    free: threading.Event = field(default_factory=threading.Event)
    busy: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.free.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tagger, name)

    def infer(self, texts: Sequence[str], request: Request) -> Inference:
        self.passes.append(list(texts))
        self.requests.append(request)
        if any("poison" in text for text in texts):
            raise RuntimeError("secret of the inside")
        if texts != [""]:  # those are the server's own
            self.busy.set()
            assert self.free.wait(120)
        return self.tagger.infer(texts, request)


class WatchedPool:
    """One model in a thread of the test's own process, in the place of model processes."""

    size, idle = 1, 0

    def __init__(self, watched: Watched):
        self.answerer, self.alive = Answerer(watched), 1
        self._threads = ThreadPoolExecutor(1)

    def start(self, metrics: ServerMetrics) -> None:
        self._idle: asyncio.Queue[WatchedPool] = asyncio.Queue()
        self._idle.put_nowait(self)

    async def take(self) -> WatchedPool:
        return await self._idle.get()

    def give_back(self, process: WatchedPool) -> None:
        self._idle.put_nowait(process)

    async def answer(self, process: WatchedPool, batch: TextBatch) -> list[bytes]:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, batch)
        finally:
            self.give_back(process)

    def kill(self) -> None:
        self.alive = 0

    def _answer(self, batch: TextBatch) -> list[bytes]:
        stream = BytesIO()
        answer_batch(self.answerer, batch, stream)
        stream.seek(0)
        return read_answers(read_message(stream))


@dataclass
class Running:
    """A server that listens."""

    url: str
    watched: Watched
    app: Any
    server: Server
    thread: threading.Thread
    client: httpx.Client

    def predict(self, **body: Any) -> httpx.Response:
        return self.client.post("/v1/predict", json=body)

    def connect(self) -> socket.socket:
        host, port = self.url.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)), timeout=120)

    def close(self) -> None:
        self.watched.free.set()
        self.client.close()
        self.stop()

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(120)
        assert not self.thread.is_alive()


Start = Callable[..., Running]


def run(opened: OpenedModel, settings: ServeSettings) -> Running:
    """Serve a model in a thread."""
    watched = Watched(opened.predictor.tagger)
    listening = open_socket(settings)
    app = create_app(opened.served, WatchedPool(watched), settings)
    listens = threading.Event()
    server = make_server(app, settings, lambda address: listens.set())
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    url = format_address(listening)
    thread.start()
    assert listens.wait(120)
    headers = {"X-API-Key": settings.key.encode()} if settings.key else {}
    client = httpx.Client(base_url=url, headers=headers, timeout=120)
    return Running(url, watched, app, server, thread, client)


def refused(answer: httpx.Response, status: int, code: str, message: str) -> None:
    """Assert that an answer is an error in the one form."""
    assert answer.headers["content-type"] == "application/json"
    assert (answer.status_code, answer.json()) == (status, {"error": {"code": code, "message": message}})


def answer_of(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """Read an answer up to the end of the connection."""
    received = b""
    while block := connection.recv(65536):
        received += block
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)
