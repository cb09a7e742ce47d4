"""How long one request keeps the event loop from all others, in CPU time; what else strangers may send."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from running_servers import Running, Start, answer_of, refused
from test_server_guards import head

LONGEST = 0.1
"""Seconds; what a health check may wait for a single request."""

CHUNKED = head(Transfer_Encoding="chunked", Connection="close")


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The CPU seconds of each step of the event loop; during one, nothing else is answered."""
    found = [0.0]
    run = asyncio.Handle._run

    def measure(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        found.append(time.thread_time() - began)

    monkeypatch.setattr(asyncio.Handle, "_run", measure)
    return found


def exchange(server: Running, content: bytes) -> bytes:
    """Send bytes, and read what comes until the server closes the connection."""
    received = b""
    with server.connect() as connection:
        sending = threading.Thread(target=send_all, args=(connection, content))
        sending.start()
        with suppress(ConnectionError):  # it is closed while we still send
            while block := connection.recv(65536):
                received += block
        sending.join()
    return received


def send_all(connection: socket.socket, content: bytes) -> None:
    with suppress(OSError):
        connection.sendall(content)


ATTACKS = {
    "tiny chunks": CHUNKED + b"1\r\n \r\n" * 200_000,
    "chunks with long extensions": CHUNKED + (b"1;" + b"x" * 50 + b"\r\n \r\n") * 20_000,
    "many headers": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"a:b\r\n" * 45_000 + b"\r\n",
    "many lines of trailers": CHUNKED + b"0\r\n" + b"a:b\r\n" * 45_000 + b"\r\n",
    "quotation marks": head(Content_Length=2**22, Connection="close") + b'"' * 2**22,
    "backslashes": head(Content_Length=2**22, Connection="close") + b'{"text": "' + b"\\" * (2**22 - 10),
    "many fields": b"GET /v1/labels?" + b"query=a&" * 7_500 + b" HTTP/1.1\r\nHost: localhost\r\n"
    b"Connection: close\r\n\r\n",
    "pipelined": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500
    + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_request_keeps_the_event_loop(shared: Running, steps: list[float], name: str) -> None:
    exchange(shared, ATTACKS[name])
    assert shared.client.get("/healthz").status_code == 200
    assert len(steps) > 10
    assert max(steps) < LONGEST


def test_a_body_of_tiny_chunks_is_refused_and_one_of_many_lines_is_not(shared: Running) -> None:
    with shared.connect() as connection:
        connection.sendall(CHUNKED + b"1\r\n \r\n" * 2_001)
        status, body = answer_of(connection)
    assert (status, body["error"]["code"]) == (400, "bad_request")

    def lines() -> Iterator[bytes]:
        yield b"text\n"
        yield from [b"wheat and more wheat\n"] * 3_000

    answer = shared.client.post("/v1/batch", content=lines(), headers={"content-type": "text/csv"})
    assert answer.status_code == 200
    assert answer.text.count("\n") == 3_001


def test_a_head_of_many_lines_is_refused_however_it_arrives(shared: Running) -> None:
    first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    for count, status in ((252, 200), (253, 431)):  # with the first three and the last, 256 and 257 lines
        content = first + b"a: b\r\n" * count + b"\r\n"
        for size in (len(content), 1, 7):
            with shared.connect() as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for start in range(0, len(content), size):
                    send_all(connection, content[start : start + size])
                received = b""
                with suppress(ConnectionError):
                    while block := connection.recv(65536):
                        received += block
            if size == len(content) or received:  # a refusal may be lost to who still sends
                assert received.startswith(b"HTTP/1.1 %d" % status)


@pytest.mark.parametrize(("size", "status"), [(2**16 - 200, 200), (2**16 + 2**13, 400)])
def test_a_head_may_have_64_kib(shared: Running, size: int, status: int) -> None:
    start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: "
    assert exchange(shared, start + b"a" * size + b"\r\n\r\n").startswith(b"HTTP/1.1 %d" % status)


def test_lines_of_a_body_are_none_of_the_head(shared: Running) -> None:
    body = b"text\n" + b"a\n\n" * 400
    request = head("/v1/batch", Content_Length=len(body), Connection="close")
    received = exchange(shared, request.replace(b"application/json", b"text/csv") + body)
    assert received.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_lengths_are_refused(shared: Running, order: tuple[int, int]) -> None:
    lengths = ({"Content_Length": 4}, {"Transfer_Encoding": "chunked"})
    both = {name: value for one in order for name, value in lengths[one].items()}
    received = exchange(shared, head(**both) + b"0\r\n\r\nGET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 400")
    assert received.count(b"HTTP/1.1") == 1


def test_strangers_write_one_line_of_the_log_at_most_for_each_request(
    shared: Running, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "seq2set.access"):
        exchange(shared, b"\x1b[31mno HTTP\r\n\r\n")
        upgrade = "Connection: Upgrade, close\r\nUpgrade: websocket\r\nUser-Agent: \x1b[31m\r\n\r\n"
        exchange(shared, f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{upgrade}".encode())
    first, second = [record.getMessage() for record in caplog.records]
    assert first == "127.0.0.1 refused 400 bad_request"
    assert second.startswith("127.0.0.1 GET /healthz 200 ")


def test_requests_that_are_cut_off_by_the_end_get_an_answer(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    server = start(shutdown_seconds=1, body_seconds=600)
    with server.connect() as stalled:
        stalled.sendall(head(Content_Length=10))
        assert server.client.get("/healthz").status_code == 200
        server.server.should_exit = True
        status, body = answer_of(stalled)
        assert (status, body["error"]["message"]) == (503, "the server is stopping; try again in a moment")
    server.thread.join(120)
    assert "Traceback" not in caplog.text


def test_the_end_of_a_server_that_still_reads_a_refused_body_is_quiet(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    server = start(shutdown_seconds=1)
    with server.connect() as refused_one:
        refused_one.sendall(head(Content_Length=100_000) + b'{"texts": [' + b"1," * 5_000)
        assert refused_one.recv(100).startswith(b"HTTP/1.1 413")
        server.server.should_exit = True
        server.thread.join(120)
    assert "Traceback" not in caplog.text


def test_a_form_that_cannot_be_read_is_called_a_form(shared: Running) -> None:
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x"):
        content = (
            b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n' + b"a" * 2**21 + b"\r\n--x--\r\n"
        )
        answer = shared.client.post("/v1/batch", content=content, headers={"content-type": kind})
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith("the form cannot be read: ")


def test_a_form_that_cannot_be_read_is_not_logged(shared: Running, caplog: pytest.LogCaptureFixture) -> None:
    kind = {"content-type": "multipart/form-data; boundary=x"}
    with caplog.at_level(logging.WARNING):
        assert shared.client.post("/v1/batch", content=b"--\xff", headers=kind).status_code == 400
    assert not caplog.records


def test_feedback_has_a_limit(start: Start, tmp_path: Path) -> None:
    server = start(feedback=tmp_path / "feedback.sqlite", max_feedback_bytes=200_000)
    answers = [server.client.post("/v1/feedback", json={"text": f"{n} {'a' * 20_000}"}) for n in range(20)]
    kept = [answer.json()["id"] for answer in answers if answer.status_code == 201]
    assert 5 <= len(kept) < 20
    message = "the feedback could not be kept: database or disk is full; max_feedback_bytes is 200,000"
    refused(answers[-1], 503, "unavailable", message)
    assert server.app.state.service.store.path.stat().st_size <= 200_000
