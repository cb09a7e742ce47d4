from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from running_servers import Start

from seq2set.config.run_folder import RunFolder
from seq2set.server.listen import StopPlan


def test_a_server_that_stops_finishes_what_it_has_accepted(start: Start) -> None:
    server = start(window_ms=60_000, max_batch=64)
    server.watched.free.clear()
    with ThreadPoolExecutor(4) as threads:
        answers = [threads.submit(server.predict, texts=["wheat"] * 16) for _ in range(4)]
        assert server.watched.busy.wait(60)
        server.server.should_exit = True
        assert refuses_connections(server.url)
        server.watched.free.set()
        assert [answer.result().status_code for answer in answers] == [200] * 4
    server.thread.join(60)
    assert not server.thread.is_alive()


def refuses_connections(url: str) -> bool:
    """Wait until nobody listens any more; whoever was let in before may still be answered."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            httpx.get(url + "/healthz", timeout=5)
        except httpx.ConnectError:
            return True
        except httpx.TransportError:  # let in at the last moment, and dropped
            pass
        time.sleep(0.05)
    return False


@contextmanager
def process(
    run: RunFolder, *options: str, start: Sequence[str] = ("-m", "seq2set")
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command itself; it prints its address once it listens."""
    command = [sys.executable, *start, "serve", str(run.path), "--port", "0", "--no-access-log"]
    started = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    try:
        yield started, started.stdout.readline().strip()
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def test_the_command_ends_well_when_it_is_told_to_stop(br_run: RunFolder) -> None:
    with process(br_run) as (server, address):
        assert httpx.post(address + "/v1/predict", json={"text": "wheat"}).status_code == 200
        server.send_signal(signal.SIGTERM)
        assert server.wait(120) == 0


LATE = """
import atexit, sys, threading
from seq2set.cli.app import run_process
atexit.register(threading.Event().wait)
run_process()
"""


def test_nothing_that_a_library_does_in_the_end_holds_up_the_command(br_run: RunFolder) -> None:
    with process(br_run, start=("-c", LATE)) as (server, _):
        server.send_signal(signal.SIGTERM)
        assert server.wait(120) == 0


STUCK = """
import ctypes
from seq2set.cli.app import run_process
from seq2set.server.listen import Server

async def shutdown(self, sockets=None):
    ctypes.PyDLL(None).sleep(100_000)  # no other thread can run meanwhile

Server.shutdown = shutdown
run_process()
"""


def test_the_command_ends_in_time_where_no_python_code_can_run(br_run: RunFolder) -> None:
    with process(br_run, "--shutdown-seconds", "2", start=("-c", STUCK)) as (server, _):
        server.send_signal(signal.SIGTERM)
        assert server.wait(120) == 1


@pytest.mark.parametrize(
    ("seconds", "plan"),
    [
        # The last 0.5 s are for the end, and 0.4 s before it for clients; of a short time 25 and 20 %.
        (2, StopPlan(drop=1.1, cancel=1.3, end=1.5, kill=1.75)),
        (1, StopPlan(drop=0.55, cancel=0.65, end=0.75, kill=0.875)),
        # Of a long time it is a twentieth, and three before it.
        (30, StopPlan(drop=24.0, cancel=26.25, end=28.5, kill=29.25)),
    ],
)
def test_the_time_to_stop_is_divided(seconds: float, plan: StopPlan) -> None:
    assert StopPlan.make(seconds) == pytest.approx(plan)


ROUNDS = int(os.environ.get("SEQ2SET_KILLS", "2"))
"""How often the server is killed; 20 times are for a machine with time to spare."""


def test_acknowledged_feedback_survives_a_kill(br_run: RunFolder, tmp_path: Path) -> None:
    database = tmp_path / "feedback.sqlite"
    acknowledged: set[int] = set()
    for number in range(ROUNDS):
        before = len(acknowledged)
        with process(br_run, "--feedback", str(database)) as (server, address):
            _send_until_killed(server, address, acknowledged, after=0.15 + 0.05 * (number % 5))
        assert len(acknowledged) > before
        with closing(sqlite3.connect(database)) as connection:
            kept = {one for (one,) in connection.execute("SELECT id FROM feedback")}
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            half = "SELECT count(*) FROM feedback WHERE id NOT IN (SELECT feedback_id FROM feedback_labels)"
            assert connection.execute(half).fetchone() == (0,)
        assert acknowledged <= kept


def _send_until_killed(
    server: subprocess.Popen[str], address: str, acknowledged: set[int], after: float
) -> None:
    """Let four clients send feedback, and kill the server in the middle of it."""

    def send(client_number: int) -> None:
        with httpx.Client(base_url=address, timeout=60) as client, suppress(httpx.TransportError):
            for number in range(100_000):
                said = {"text": f"{client_number} {number}", "accepted": ["oil"], "added": ["x", "y"]}
                acknowledged.add(client.post("/v1/feedback", json=said).json()["id"])

    clients = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    before = len(acknowledged)
    for client in clients:
        client.start()
    while len(acknowledged) < before + 4:
        time.sleep(0.01)
    time.sleep(after)
    server.kill()
    for client in clients:
        client.join()
