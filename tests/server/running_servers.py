"""Real servers on free ports of this machine, each in a thread, and what tests ask of them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from seq2set.models.predictions import Inference, Request
from seq2set.server.app import create_app
from seq2set.server.listen import Server, format_address, make_server, open_socket
from seq2set.server.service import ServedModel
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


def run(opened: ServedModel, settings: ServeSettings) -> Running:
    """Serve a model in a thread."""
    watched = Watched(opened.predictor.tagger)
    model = opened._replace(predictor=type(opened.predictor)(watched, opened.predictor.metadata))
    listening = open_socket(settings)
    app = create_app(model, settings)
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
