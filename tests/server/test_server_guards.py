from __future__ import annotations

import json
import logging
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn
from packaging.requirements import Requirement
from running_servers import Running, Start, answer_of, refused
from uvicorn.protocols.http.h11_impl import H11Protocol

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
JSON = {"content-type": "application/json"}


def head(path: str = "/v1/predict", **headers: object) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_a_body_that_says_it_is_too_large_is_refused_unread(start: Start) -> None:
    server = start(max_body_bytes=1000)
    with server.connect() as connection:
        connection.sendall(head(Content_Length=10**12))
        status, body = answer_of(connection)  # the server closes without waiting for it
    assert (status, body["error"]["code"]) == (413, "too_large")


def test_a_body_of_unknown_length_is_counted_while_it_arrives(start: Start) -> None:
    server = start(max_body_bytes=1000)
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 10**6:
            sent += 500
            yield b" " * 500

    answer = server.client.post("/v1/predict", content=endless(), headers=JSON)
    message = "the body has more than 1,000 bytes, which is the most allowed here"
    refused(answer, 413, "too_large", message)
    assert answer.headers["connection"] == "close"
    assert server.watched.passes == [[""]]  # that of the start


def test_a_refusal_reaches_a_client_that_is_still_sending(start: Start) -> None:
    server = start(max_body_bytes=1000)
    for _ in range(5):
        answer = server.client.post("/v1/predict", content=b" " * 5_000_000, headers=JSON)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_a_body_that_comes_too_slowly_is_refused(start: Start) -> None:
    server = start(body_seconds=0.4)
    with server.connect() as connection:
        connection.sendall(head(Content_Length=100) + b"{")
        status, body = answer_of(connection)
    assert status == 408
    assert body["error"] == {"code": "too_slow", "message": "the body took more than 0.4 s to arrive"}


def test_a_head_that_comes_too_slowly_is_refused(start: Start) -> None:
    server = start(header_seconds=0.3)
    with server.connect() as silent, server.connect() as slow:
        slow.sendall(b"POST /v1/predict HT")
        for connection in (slow, silent):
            status, body = answer_of(connection)
            assert (status, body["error"]["code"]) == (408, "too_slow")
            assert body["error"]["message"] == "the request's head took more than 0.3 s"


def test_the_second_head_of_a_connection_is_timed_as_well(start: Start) -> None:
    server = start(header_seconds=2)  # the first one must be in time on a busy machine too
    with server.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")
        connection.sendall(b"GET /heal")
        assert answer_of(connection)[0] == 408


def test_what_is_not_http_is_refused_in_the_one_form(shared: Running) -> None:
    with shared.connect() as connection:
        connection.sendall(b"HELLO\r\n\r\n")
        assert answer_of(connection) == (
            400,
            {"error": {"code": "bad_request", "message": "invalid HTTP request received"}},
        )


def test_a_body_that_stops_being_http_ends_its_request(shared: Running) -> None:
    with shared.connect() as connection:
        connection.sendall(head(Transfer_Encoding="chunked") + b"5\r\n{")
        time.sleep(0.1)
        connection.sendall(b'"tex\r\nno length\r\n')
        assert answer_of(connection)[0] == 400
    assert shared.client.get("/healthz").status_code == 200


def test_one_connection_too_many_is_refused(start: Start) -> None:
    server = start(max_connections=2)
    with server.connect() as first, server.connect() as second:
        for connection in (first, second):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")
        with server.connect() as third:
            assert answer_of(third) == (
                503,
                {"error": {"code": "unavailable", "message": "2 connections are open already"}},
            )


def test_whoever_hangs_up_is_dropped_before_the_work(start: Start) -> None:
    server = start(window_ms=0, max_batch=1)
    server.watched.free.clear()
    first = threading.Thread(target=server.predict, kwargs={"text": "first"})
    first.start()
    assert server.watched.busy.wait(60)
    body = json.dumps({"text": "gone"}).encode()
    with server.connect() as connection:
        connection.sendall(head(Content_Length=len(body)) + body)
        _wait_for(lambda: server.app.state.service.batcher.waiting == 1)
    _wait_for(lambda: server.app.state.service.batcher.waiting == 0)
    server.watched.free.set()
    first.join(60)
    assert server.predict(text="last").status_code == 200
    assert server.watched.passes[1:] == [["first"], ["last"]]
    metrics = server.client.get("/metrics").text
    assert "seq2set_dropped_total 1.0" in metrics
    assert 'seq2set_requests_total{method="POST",route="/v1/predict",status="499"} 1.0' in metrics


def _wait_for(condition, seconds: float = 60) -> None:  # type: ignore[no-untyped-def]
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_whoever_hangs_up_while_sending_a_file_leaves_nothing_behind(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server = start()
    with server.connect() as connection:
        request = head("/v1/batch", Content_Length=10_000).replace(b"application/json", b"text/csv")
        connection.sendall(request + b"text\n")
        _wait_for(lambda: len(list(tmp_path.iterdir())) == 1)
    _wait_for(lambda: not list(tmp_path.iterdir()))


def test_where_a_key_is_set_it_is_asked_for(start: Start) -> None:
    server = start(key="open sésame")
    message = "a key is needed here: send 'Authorization: Bearer KEY', or 'X-API-Key: KEY'"
    for path in ("/v1/model", "/v1/labels", "/v1/openapi.json", "/metrics", "/v1/nothing"):
        for headers in ({}, {"Authorization": "Bearer open sesame"}, {"Authorization": "Basic b3Blbg=="}):
            answer = httpx.get(server.url + path, headers=headers)
            refused(answer, 401, "unauthorized", message)
            assert answer.headers["www-authenticate"] == "Bearer"
        for name, value in (("authorization", "bearer open sésame"), ("x-api-key", "open sésame")):
            answer = httpx.get(server.url + path, headers=[(name.encode(), value.encode())])
            assert answer.status_code == (404 if "nothing" in path else 200)
    for path in ("/healthz", "/readyz"):
        assert httpx.get(server.url + path).status_code == 200


@pytest.mark.parametrize("path", ["/v1/model", "/nothing", "/healthz"])
def test_every_answer_tells_browsers_to_be_careful(shared: Running, path: str) -> None:
    answer = shared.client.get(path, headers={"Origin": "http://elsewhere"})
    assert answer.headers["content-security-policy"].startswith("default-src 'self'; ")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "message"),
    [
        ("GET", "/nothing", 404, "not_found", "not found"),
        ("POST", "/nothing", 404, "not_found", "not found"),
        ("GET", "/docs", 404, "not_found", "not found"),
        ("GET", "/v1/predict", 405, "method_not_allowed", "method not allowed"),
        ("DELETE", "/v1/model", 405, "method_not_allowed", "method not allowed"),
        ("OPTIONS", "/v1/predict", 405, "method_not_allowed", "method not allowed"),
    ],
)
def test_wrong_addresses_are_refused_in_the_one_form(
    shared: Running, method: str, path: str, status: int, code: str, message: str
) -> None:
    refused(shared.client.request(method, path), status, code, message)


def test_a_form_of_another_site_cannot_send_json(shared: Running) -> None:
    headers = {"content-type": "text/plain"}
    answer = shared.client.post("/v1/feedback", content=b'{"text": "a"}', headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


def test_the_access_log_holds_no_texts(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "seq2set.access")
    server = start()
    server.predict(text="private words")
    server.predict(private="words")
    server.client.get("/v1/labels", params={"query": "private"})
    server.client.get("/private/words")
    server.client.request("PRIVATE", "/v1/labels")
    server.client.post("/v1/batch", content="text\nprivate\n", headers={"content-type": "text/csv"})
    _wait_for(lambda: len(caplog.messages) >= 6)
    assert "rivate" not in caplog.text
    lines = [line.rsplit(" ", 2)[0] for line in caplog.messages]
    assert lines == [
        "127.0.0.1 POST /v1/predict 200",
        "127.0.0.1 POST /v1/predict 422",
        "127.0.0.1 GET /v1/labels 200",
        "127.0.0.1 GET unknown 404",
        "127.0.0.1 other /v1/labels 405",
        "127.0.0.1 POST /v1/batch 200",
    ]


def test_counters_tell_how_the_server_is(start: Start) -> None:
    server = start()
    server.predict(texts=["a", "b", "c"])
    metrics = server.client.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=")
    for line in (
        'seq2set_requests_total{method="POST",route="/v1/predict",status="200"} 1.0',
        "seq2set_batch_texts_sum 3.0",
        "seq2set_batch_texts_count 1.0",
        "seq2set_queue_texts 0.0",
        'seq2set_request_seconds_count{route="/v1/predict"} 1.0',
    ):
        assert line in metrics.text.splitlines()


def test_a_server_that_takes_no_texts_is_not_ready(start: Start) -> None:
    server = start()
    assert server.client.get("/readyz").json() == {"status": "ok"}
    server.app.state.service.batcher._closing = True
    refused(server.client.get("/readyz"), 503, "unavailable", "not ready")
    refused(server.predict(text="a"), 503, "unavailable", "the server is stopping; try again in a moment")
    assert server.client.get("/healthz").json() == {"status": "ok"}


def test_what_is_used_of_uvicorn_beyond_its_documentation_is_there_and_its_version_bounded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {one.name: one.specifier for one in map(Requirement, project["optional-dependencies"]["serve"])}
    assert "<" in str(needed["uvicorn"])
    assert uvicorn.__version__ in needed["uvicorn"]
    used = {
        H11Protocol: (
            "connection_made",
            "connection_lost",
            "data_received",
            "on_response_complete",
            "pause_writing",
            "resume_writing",
            "send_400_response",
        ),
        uvicorn.Server: ("startup", "shutdown", "capture_signals", "handle_exit"),
    }
    assert [name for owner, names in used.items() for name in names if not hasattr(owner, name)] == []
