from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time

import httpx
import pytest

from seq2set.config.run_folder import RunFolder


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class Visitor(threading.Thread):
    """Waits for the server of this process, asks it something and tells it to stop."""

    def __init__(self, port: int):
        super().__init__()
        self.status, self.failure = 0, ""
        # The environment is not for this thread to read: what the server loads meanwhile may change it.
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False)

    def run(self) -> None:
        try:
            with self.client:
                self._visit()
        finally:  # whatever happened: a server that nobody stops would hold the test for ever
            os.kill(os.getpid(), signal.SIGTERM)

    def _visit(self) -> None:
        until = time.monotonic() + 300
        while time.monotonic() < until:
            try:
                self.client.get("/readyz").raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(0.05)
        else:
            self.failure = "the server never listened"
            return
        self.status = self.client.post("/v1/predict", json={"text": "wheat"}).status_code


def test_serve_prints_its_address_answers_and_stops_when_told_to(
    seq2set, br_run: RunFolder, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert threading.current_thread() is threading.main_thread()  # signals come here only
    monkeypatch.delenv("SEQ2SET_API_KEY", raising=False)
    port = free_port()
    visitor = Visitor(port)
    visitor.start()
    outcome = seq2set("serve", br_run.path, "--port", port, "--feedback", tmp_path / "f.sqlite")
    visitor.join()
    assert (outcome.code, visitor.status, visitor.failure) == (0, 200, "")
    assert outcome.out == f"http://127.0.0.1:{port}\n"
    assert (tmp_path / "f.sqlite").is_file()
    # What would end the process of a server that does not stop in time must not end this one.
    assert all(one.finished.is_set() for one in threading.enumerate() if isinstance(one, threading.Timer))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--port", "70000"], "port is 70000; it must lie in [0, 65535]"),
        (["--max-texts", "0"], "max_texts is 0; it must be >= 1"),
        (["--queue", "10"], "queue_texts is 10; it must be >= 64, so that a whole request and a whole batch"),
        (["--window-ms", "-1"], "window_ms is -1; it must be >= 0"),
    ],
)
def test_a_wrong_serve_is_one_sentence(seq2set, br_run: RunFolder, arguments, sentence) -> None:
    outcome = seq2set("serve", br_run.path, *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"seq2set: {sentence}")


def test_a_port_that_is_taken_and_a_folder_without_a_model_are_one_sentence_each(
    seq2set, br_run: RunFolder, tmp_path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = seq2set("serve", br_run.path, "--port", port)
        sentence = f"seq2set: cannot listen on 127.0.0.1, port {port}: address already in use\n"
        assert (outcome.code, outcome.err) == (2, sentence)
    outcome = seq2set("serve", tmp_path, "--port", "0")
    assert outcome.code == 2
    assert outcome.err.startswith(f"seq2set: {tmp_path} holds no model")


def test_without_a_key_the_world_is_not_let_in_silently(seq2set, tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("SEQ2SET_API_KEY", raising=False)
    warning = "0.0.0.0 can be reached from other machines, and no key is set; set SEQ2SET_API_KEY"
    assert warning in seq2set("serve", tmp_path, "--port", 0, "--host", "0.0.0.0").err
    monkeypatch.setenv("SEQ2SET_API_KEY", "k")
    assert "other machines" not in seq2set("serve", tmp_path, "--port", 0, "--host", "0.0.0.0").err


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "prometheus_client", "python_multipart"])
def test_without_the_extra_it_says_how_to_install_it(
    seq2set, br_run: RunFolder, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    outcome = seq2set("serve", br_run.path)
    sentence = f"seq2set: this needs the package '{package}': pip install 'seq2set[serve]'\n"
    assert (outcome.code, outcome.err) == (2, sentence)
