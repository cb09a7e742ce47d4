from __future__ import annotations

import gc
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from seq2set.core.processes import (
    AnsweringProcess,
    WorkerPool,
    build_worker_environment,
    defer_interrupts,
    pause_collections,
    silence_pool,
    stop_with_pipe,
)


def test_the_end_of_the_pipe_interrupts_the_work() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"left over")
    os.close(writing)
    with pytest.raises(KeyboardInterrupt), stop_with_pipe(reading):
        time.sleep(60)
    os.close(reading)


def test_it_is_heard_where_a_shell_had_interruptions_ignored() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), stop_with_pipe(reading):
            time.sleep(60)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    os.close(reading)


def test_work_that_has_ended_is_not_interrupted() -> None:
    reading, writing = os.pipe()
    before = set(threading.enumerate())
    with stop_with_pipe(reading):
        (watcher,) = set(threading.enumerate()) - before
    os.close(writing)
    watcher.join(60)
    assert not watcher.is_alive()  # it saw the end, and said nothing
    os.close(reading)


def test_an_open_pipe_lets_the_work_be() -> None:
    reading, writing = os.pipe()
    with stop_with_pipe(reading):
        os.write(writing, b"words are no sign")
        time.sleep(0.05)
    os.close(writing)


RESIDENT = """
text = b"x" * 200_000_000
del text
print(int(open("/proc/self/statm").read().split()[1]) * 4096)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
def test_cycles_are_looked_for_again_after_a_pause() -> None:
    with pytest.raises(ValueError, match="failed"), pause_collections():
        assert not gc.isenabled()
        with pause_collections():
            pass
        assert not gc.isenabled()  # the pause around it is not over
        raise ValueError("failed")
    assert gc.isenabled()


def test_who_looks_for_no_cycles_need_not_after_a_pause() -> None:
    gc.disable()
    try:
        with pause_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_worker_keeps_the_memory_that_it_frees() -> None:
    def resident(environment: dict[str, str]) -> int:
        command = [sys.executable, "-c", RESIDENT]
        return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    assert resident(dict(os.environ)) < 100_000_000
    assert resident(build_worker_environment()) > 200_000_000


ONE_BY_ONE = """
import os, sys
for line in sys.stdin:
    print(line.strip(), os.environ["OMP_NUM_THREADS"], flush=True)
"""


def test_a_process_answers_with_one_thread_until_it_is_closed() -> None:
    process = AnsweringProcess(("-c", ONE_BY_ONE), dict(os.environ) | {"OMP_NUM_THREADS": "8"})
    process.input.write(b"asked\n")
    process.input.flush()
    assert process.output.readline() == b"asked 1\n"
    process.input.write(b"never sent")  # what is left in the buffer when the process has gone
    process.close()
    assert process.wait() == -signal.SIGKILL
    assert process.input.closed
    assert process.output.closed


def test_what_the_user_has_set_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "5")
    environment = build_worker_environment()
    assert environment["MALLOC_TRIM_THRESHOLD_"] == "5"
    assert environment["PATH"] == os.environ["PATH"]


def test_only_a_pool_that_was_told_to_end_dies_unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda failed: heard.append(failed.thread.name))

    def fail() -> None:
        raise KeyError(9)

    with silence_pool():
        for name, ends in (("told to end", True), ("surprised", False)):
            thread = threading.Thread(target=fail, name=name)
            thread.executor_flags = SimpleNamespace(shutdown=ends)  # type: ignore[attr-defined]
            thread.start()
            thread.join()
        other = threading.Thread(target=fail, name="of no pool")
        other.start()
        other.join()
    assert heard == ["surprised", "of no pool"]


WHAT_IT_HEARS = """
import os, signal
print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []), os.environ["PYTHONWARNINGS"])
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="the system has no masks of signals")
@pytest.mark.parametrize("filters", [None, "error"])
def test_what_starts_with_a_pool_hears_no_ctrl_c_and_warns_of_no_leaks(
    filters: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = "ignore:resource_tracker:UserWarning"
    if filters is None:
        monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    else:
        monkeypatch.setenv("PYTHONWARNINGS", filters)
    with defer_interrupts():
        started = subprocess.run([sys.executable, "-c", WHAT_IT_HEARS], capture_output=True, check=True)
    assert started.stdout.decode().split() == ["True", quiet if filters is None else f"error,{quiet}"]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert os.environ.get("PYTHONWARNINGS") == filters


ECHO = "import sys; print(sys.stdin.readline().strip() + '!'); sys.exit(3)"
UNTIL_STOPPED = "import sys, pathlib; sys.stdin.read(); pathlib.Path(sys.argv[1]).touch()"


def test_a_worker_reads_its_message_and_its_output_is_kept() -> None:
    with WorkerPool[str](2) as pool:
        pool.start("first", ["-c", ECHO], message="hello")
        assert (pool.jobs, pool.free_slot) == (["first"], 1)
        (ended,) = pool.wait()
        assert (ended.job, ended.output, ended.code) == ("first", "hello!\n", 3)
        assert (pool.jobs, pool.free_slot) == ([], 0)


def test_leaving_the_pool_stops_its_workers_and_waits_for_them(tmp_path: Path) -> None:
    marks = [tmp_path / "one", tmp_path / "two"]
    with WorkerPool[int](2) as pool:
        for number, mark in enumerate(marks):
            pool.start(number, ["-c", UNTIL_STOPPED, str(mark)], log=tmp_path / f"{number}.log")
        assert pool.free_slot is None
        assert pool.wait(0) == []
    assert all(mark.exists() for mark in marks)
