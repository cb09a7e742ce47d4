"""Requests that ask for too much, and clients that send or read too little."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import tracemalloc
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from running_servers import Running, Start, answer_of, refused
from test_server_guards import _wait_for, head

from seq2set.config.run_folder import RunFolder
from seq2set.server.errors import ApiError
from seq2set.server.guards.bodies import CommaCounter

JSON = {"content-type": "application/json"}
CSV = {"content-type": "text/csv"}


@pytest.mark.parametrize(
    "content",
    [
        b'{"texts": [' + b"1," * 5_000 + b"1]}",
        b'{"text": "a"' + b"".join(b', "%d": 1' % number for number in range(5_000)) + b"}",
    ],
)
def test_a_body_of_too_many_values_is_refused_before_they_are_looked_at(
    shared: Running, content: bytes
) -> None:
    answer = shared.client.post("/v1/predict", content=content, headers=JSON)
    refused(answer, 413, "too_large", "the body holds more than 4,064 values, which is the most allowed")


def test_of_many_wrong_texts_the_first_is_named(shared: Running) -> None:
    refused(shared.predict(texts=[1] * 60), 422, "invalid", "texts.0 is 1; input should be a valid string")


def test_values_are_counted_outside_of_texts_however_the_body_is_cut() -> None:
    content = rb'{"a": "x, \" , y", "b\\": [1, 2, "," , "\\\\"], "c": ","}'
    commas = 5  # after "y", 1, 2, the text "," and the list
    assert len(json.loads(content)["b\\"]) == 4
    for size in range(1, len(content) + 1):
        counter = CommaCounter(100)
        for start in range(0, len(content), size):
            counter.read(content[start : start + size])
        assert counter.count == commas
    with pytest.raises(ApiError, match="more than 4 values"):
        CommaCounter(4).read(content)


def test_a_body_is_let_go_once_it_is_parsed(start: Start) -> None:
    server = start(max_text_chars=4 * 2**20)
    server.watched.free.clear()
    content = b'{"text": "' + b"wheat " * 500_000 + b'"}'
    tracemalloc.start()
    try:
        asking = threading.Thread(
            target=server.client.post, args=("/v1/predict",), kwargs={"content": content, "headers": JSON}
        )
        asking.start()
        assert server.watched.busy.wait(120)
        held, _ = tracemalloc.get_traced_memory()
        server.watched.free.set()
        asking.join()
    finally:
        tracemalloc.stop()
    assert len(content) < held < 1.5 * len(content)  # the text; the body would be as much again


def test_all_bodies_together_are_limited(start: Start) -> None:
    server = start(max_held_bytes=1000)
    small, large = {"text": "a"}, {"text": "a" * 600}
    assert server.predict(**large).status_code == 200
    with server.connect() as stalled:
        stalled.sendall(head(Content_Length=700) + b" " * 600)
        _wait_for(lambda: server.predict(**large).status_code == 429)
        message = "all requests together hold more than 1,000 bytes (max_held_bytes)"
        refused(server.predict(**large), 429, "busy", message)
        assert server.predict(**small).status_code == 200
    _wait_for(lambda: server.predict(**large).status_code == 200)


def test_all_files_together_are_limited(start: Start) -> None:
    server = start(max_stored_bytes=1000)
    rows = "text\n" + "wheat\n" * 200
    answer = server.client.post("/v1/batch", content=rows, headers=CSV)
    message = "all requests together hold more than 1,000 bytes (max_stored_bytes)"
    refused(answer, 429, "busy", message)


def test_a_file_that_stalls_takes_no_place(start: Start) -> None:
    server = start(max_uploads=1)
    with server.connect() as stalled:
        stalled.sendall(head("/v1/batch", Content_Length=10_000).replace(b"application/json", b"text/csv"))
        answer = server.client.post("/v1/batch", content="text\nwheat\n", headers=CSV)
        assert answer.status_code == 200


def test_one_client_cannot_take_all_connections(start: Start) -> None:
    server = start(max_client_connections=2)
    with server.connect() as first, server.connect() as second:
        for connection in (first, second):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")
        with server.connect() as third:
            status, body = answer_of(third)
            assert status == 503
            assert body["error"]["message"] == "2 connections of this client are open already"


def test_a_client_that_never_reads_is_given_up(start: Start) -> None:
    server = start(answer_seconds=0.5, header_seconds=600)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = server.url.removeprefix("http://").split(":")
        connection.connect((host, int(port)))
        request = b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n"
        sending = threading.Thread(target=_send_all, args=(connection, request * 20_000))
        sending.start()
        _wait_for(lambda: len(server.server.server_state.connections) == 1)
        _wait_for(lambda: not server.server.server_state.connections)  # nothing was read
        sending.join()


def _send_all(connection: socket.socket, content: bytes) -> None:
    with suppress(OSError):
        connection.sendall(content)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil", "10.0.0.1", ""])
def test_only_own_names_are_answered(shared: Running, host: str) -> None:
    for method, path in (("GET", "/v1/model"), ("GET", "/"), ("POST", "/v1/feedback"), ("GET", "/metrics")):
        answer = shared.client.request(method, path, headers={"Host": host})
        message = f"the host '{host}' is not served here; --allowed-host adds a name"
        refused(answer, 421, "wrong_host", message)
    assert shared.client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["localhost:1", "LOCALHOST", "127.0.0.1", "[::1]:8000", "localhost."])
def test_own_names_are_answered_with_any_port(shared: Running, host: str) -> None:
    assert shared.client.get("/v1/model", headers={"Host": host}).status_code == 200


def test_names_can_be_allowed_and_all_addresses_served(start: Start) -> None:
    server = start(allowed_host=["Tags.example.org"])
    headers = {"Host": "tags.example.org", "Origin": "https://tags.example.org"}
    assert server.client.post("/v1/predict", json={"text": "a"}, headers=headers).status_code == 200
    proxied = {"Origin": "https://tags.example.org"}  # a proxy may write another name for the host
    assert server.client.post("/v1/predict", json={"text": "a"}, headers=proxied).status_code == 200
    everywhere = start(host="0.0.0.0")
    url = everywhere.url.replace("0.0.0.0", "127.0.0.1")
    names = {"10.0.0.1": 200, "[fe80::1]:80": 200, socket.gethostname(): 200, "evil": 421}
    for host, status in names.items():
        assert httpx.get(url + "/v1/model", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_pages_of_other_sites_may_change_and_cost_nothing(shared: Running, headers: dict[str, str]) -> None:
    for path in ("/v1/predict", "/v1/feedback", "/v1/batch"):
        answer = shared.client.post(path, json={"text": "a"}, headers=headers)
        refused(answer, 403, "forbidden", "pages of other sites may not send this request")
    assert shared.client.get("/v1/labels", headers=headers).status_code == 200


def test_the_own_page_may_send(shared: Running) -> None:
    headers = {"Origin": shared.url, "Sec-Fetch-Site": "same-origin"}
    assert shared.client.post("/v1/predict", json={"text": "a"}, headers=headers).status_code == 200


@pytest.mark.parametrize("encoding", ["undefined", "punycode", "utf-8\0", "rot13", "idna"])
def test_encodings_that_are_none_of_texts_are_refused(shared: Running, encoding: str) -> None:
    answer = shared.client.post("/v1/batch?", params={"encoding": encoding}, content="text\na\n", headers=CSV)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("encoding '")


def test_utf16_without_a_mark_is_one_sentence(shared: Running) -> None:
    content = "text\nwheat\n".encode("utf-16-le")
    answer = shared.client.post("/v1/batch", params={"encoding": "utf-16"}, content=content, headers=CSV)
    message = "the file: the file has no byte order mark; pass encoding utf-16-le or utf-16-be"
    refused(answer, 422, "invalid", message)


def test_a_table_of_too_many_columns_is_refused(shared: Running) -> None:
    names = ",".join(["text", *map(str, range(20_000))])
    answer = shared.client.post("/v1/batch", content=names + "\n", headers=CSV)
    message = "the file, line 1: the header has 20,001 columns; at most 10,000 are read"
    refused(answer, 422, "invalid", message)


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("ending", ["", "-wal"])
def test_feedback_into_a_database_that_is_gone_is_not_acknowledged(
    start: Start, tmp_path: Path, replaced: bool, ending: str
) -> None:
    path = tmp_path / "feedback.sqlite"
    server = start(feedback=path)
    assert server.client.post("/v1/feedback", json={"text": "a"}).status_code == 201
    victim = path.with_name(path.name + ending)
    if replaced:
        other = tmp_path / "other"
        other.write_bytes(victim.read_bytes())
        other.replace(victim)
    else:
        victim.unlink()
    message = f"the feedback could not be kept: {path} was deleted or replaced; restart the server"
    refused(server.client.post("/v1/feedback", json={"text": "b"}), 503, "unavailable", message)


def test_feedback_deleted_during_the_write_is_not_acknowledged(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "feedback.sqlite"
    server = start(feedback=path)
    store = server.app.state.service.store
    write = store._insert

    def write_and_delete(feedback: object) -> int:
        number: int = write(feedback)
        path.unlink()
        return number

    monkeypatch.setattr(store, "_insert", write_and_delete)
    assert server.client.post("/v1/feedback", json={"text": "b"}).status_code == 503


def test_a_feedback_database_is_for_its_owner_only(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "feedback.sqlite"
    server = start(feedback=path)
    assert server.client.post("/v1/feedback", json={"text": "a"}).status_code == 201
    for one in tmp_path.iterdir():
        assert oct(one.stat().st_mode & 0o777) == "0o600"
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM feedback").fetchone() == (1,)
    connection.close()


def test_the_command_ends_in_time_and_says_what_it_dropped(br_run: RunFolder) -> None:
    command = [sys.executable, "-m", "seq2set", "serve", str(br_run.path), "--port", "0", "--workers", "1"]
    command += ["--no-access-log", "--shutdown-seconds", "15", "--window-ms", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        address = server.stdout.readline().strip()
        rows = subprocess.check_output(["ps", "-A", "-o", "pid=,ppid="], text=True).splitlines()
        (model,) = [int(pid) for pid, parent in map(str.split, rows) if int(parent) == server.pid]
        os.kill(model, signal.SIGSTOP)  # so that nothing is ever answered
        answers: list[httpx.Response] = []
        body = {"text": "wheat"}
        asking = threading.Thread(
            target=lambda: answers.append(httpx.post(address + "/v1/predict", json=body, timeout=600))
        )
        asking.start()
        _wait_for(lambda: "seq2set_batch_texts_count 1.0" in httpx.get(address + "/metrics").text)
        server.send_signal(signal.SIGTERM)
        asking.join()
        refused(answers[0], 503, "unavailable", "the server is stopping; try again in a moment")
        assert server.wait(600) == 0
        assert "stopping: 1 requests were not finished in time and are dropped" in server.stderr.read()
