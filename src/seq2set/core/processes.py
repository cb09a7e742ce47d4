"""Processes: workers that stop with whoever started them, joblib's pool, and polite interruptions.

A worker's standard input is a pipe from the process that started it. When the pipe is closed, on purpose or
because that process died, the worker stops as after Ctrl-C, with everything saved.

The processes of joblib's pool, which fit linear classifiers, have no such pipe: the process that uses them
ends them. Whatever they and the library's own threads would print about it comes after the command's last
sentence, or between its lines; so they ignore Ctrl-C, and nothing of it is printed.
"""

from __future__ import annotations

import _thread
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Generic, TypeVar

from seq2set.core.errors import WorkError

KEPT = str(2**30)
"""Bytes that a worker may free and keep; also the size from which memory is asked for by itself."""

POLL_SECONDS = 0.1
"""Seconds between polls of the worker processes."""

Job = TypeVar("Job")


@dataclass(frozen=True)
class _Worker(Generic[Job]):
    job: Job
    process: subprocess.Popen[bytes]


@dataclass(frozen=True)
class EndedWorker(Generic[Job]):
    """A worker process that ended: its job, what it printed where that is not in a log, and its exit code."""

    job: Job
    output: str
    code: int


class WorkerPool(Generic[Job]):
    """Processes that work on one job each; leaving the block stops those that still run."""

    pinned = True
    """Whether the processes share the cores of this machine, and each should keep to its own"""

    def __init__(self, size: int):
        self.size = size
        self._workers: dict[int, _Worker[Job]] = {}

    def __enter__(self) -> WorkerPool[Job]:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            assert worker.process.stdin is not None
            worker.process.stdin.close()  # the sign to save everything and stop
        for worker in self._workers.values():
            worker.process.wait()
            if worker.process.stdout is not None:
                worker.process.stdout.close()

    @property
    def jobs(self) -> list[Job]:
        """The jobs that are being worked on."""
        return [worker.job for worker in self._workers.values()]

    @property
    def free_slot(self) -> int | None:
        """The number of the first slot without a worker, or None where all are busy."""
        return min(set(range(self.size)) - self._workers.keys(), default=None)

    def start(
        self, job: Job, arguments: Sequence[str], *, message: str | None = None, log: Path | None = None
    ) -> None:
        """Start Python with these arguments for a job, in a free slot.

        It reads `message` as the first line of its standard input. What it prints is kept for `wait`, or goes
        to the file `log` together with its errors.
        """
        slot = self.free_slot
        assert slot is not None
        with contextlib.ExitStack() as stack:
            stream = subprocess.PIPE if log is None else stack.enter_context(log.open("wb"))
            process = subprocess.Popen(  # noqa: S603 (this very program)
                [sys.executable, *arguments],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=None if log is None else stream,
                bufsize=0,  # nothing may be left to write when a process has died
                env=build_worker_environment(),
                start_new_session=True,  # Ctrl-C reaches this process only, which passes it on once
            )
        self._workers[slot] = _Worker(job, process)
        if message is not None:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # it died at once, which `wait` will notice
                process.stdin.write(message.encode() + b"\n")

    def wait(self, seconds: float = float("inf")) -> list[EndedWorker[Job]]:
        """Wait until a worker ends, or the time is over, and return those that have."""
        until = time.monotonic() + seconds
        while not (ended := self._find_ended_slots()) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return [_collect(self._workers.pop(slot)) for slot in ended]

    def _find_ended_slots(self) -> list[int]:
        return [slot for slot, worker in self._workers.items() if worker.process.poll() is not None]


def _collect(worker: _Worker[Job]) -> EndedWorker[Job]:
    with worker.process as process:
        output = "" if process.stdout is None else process.stdout.read().decode()
    return EndedWorker(worker.job, output, process.returncode)


def build_worker_environment() -> dict[str, str]:
    """Return the environment of a training beside others, which keeps the memory that it frees.

    An update frees hundreds of megabytes. The C library gives them back to the system, which hands them out
    again page by page, filled with zeros; trainings that run at the same time are in each other's way there.
    What the user has set stands. Other C libraries ignore it.
    """
    return {"MALLOC_TRIM_THRESHOLD_": KEPT, "MALLOC_MMAP_THRESHOLD_": KEPT} | os.environ


ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "0",
}
"""The environment in which the libraries use one thread each: more are in the way of other processes"""


class EndedProcessError(WorkError):
    """A process ended before it had answered."""


class AnsweringProcess:
    """A process that answers what is written to its standard input, with one thread, until it is ended.

    `apart` starts it where Ctrl-C does not reach it: this process is interrupted, and ends it.
    """

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], **apart: Any):
        self._process = subprocess.Popen(  # noqa: S603 (this very program)
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environment, **ONE_THREAD},
            **apart,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid, self.input, self.output = self._process.pid, self._process.stdin, self._process.stdout

    def wait(self) -> int:
        """Wait for its end, and return its exit code."""
        return self._process.wait()

    def kill(self) -> None:
        """End it, whatever it does, without waiting for its end."""
        self._process.kill()

    def close(self) -> None:
        """End it, and let go of what it leaves."""
        self.kill()
        self.wait()
        for stream in (self.input, self.output):
            with contextlib.suppress(OSError):  # what could not be written is of no use any more
                stream.close()


@contextmanager
def pause_collections() -> Iterator[None]:
    """Put off looking for cycles while the block makes many objects of which none is left over.

    While libraries are imported and a model is opened, Python would look for them a hundred times.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def stop_with_pipe(pipe: int) -> Iterator[None]:
    """Interrupt the block when the other end of the pipe is closed; what follows is not affected."""
    done, before = threading.Event(), signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        # So it is in whatever a shell started in the background; an interruption would go unnoticed.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=_watch, args=(pipe, done), daemon=True).start()
        yield
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)


def _watch(pipe: int, done: threading.Event) -> None:
    while os.read(pipe, 1):
        pass
    if not done.is_set():
        main = threading.main_thread().ident
        if main is not None and hasattr(signal, "pthread_kill"):
            # A real signal also wakes a main thread that waits in a call of the system.
            signal.pthread_kill(main, signal.SIGINT)
        else:
            _thread.interrupt_main()


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let processes that start in the block ignore Ctrl-C for good; in this one it is only delayed.

    A terminal sends it to all processes of a command at once, and each would print a traceback. Two of them
    only remove what a killed command leaves, which is what they are for, and do so without a warning.
    """
    filters = filter(None, [os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker:UserWarning"])
    with set_environment(PYTHONWARNINGS=",".join(filters)):
        if not hasattr(signal, "pthread_sigmask"):
            yield
            return
        from multiprocessing.resource_tracker import ensure_running  # few commands start a pool

        ensure_running()  # now, since its start would let the signal through again
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited by what is started
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def set_environment(**changes: str) -> Iterator[None]:
    """Change variables of the environment for a block."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def silence_pool() -> Iterator[None]:
    """Drop the traceback of the thread that manages joblib's pool when it is ended in mid-work."""
    before = threading.excepthook

    def hook(failed: threading.ExceptHookArgs) -> None:
        flags = getattr(failed.thread, "executor_flags", None)
        if not getattr(flags, "shutdown", False):
            before(failed)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


def end_pool() -> None:
    """Kill the processes that joblib keeps for the next fit, if there are any, and wait for their end."""
    module: Any = sys.modules.get("joblib.externals.loky.reusable_executor")
    executor = getattr(module, "_executor", None)
    if executor is None:
        return
    with silence_pool(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        executor.shutdown(wait=True, kill_workers=True)


SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What asks a command to stop."""


class Interruption:
    """SIGINT and SIGTERM as a polite request to save and stop; a second one is not held back."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():  # only there may signals be handled
            self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _ask(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.asked = True
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


@contextmanager
def run_in_processes(jobs: Iterable[Any], workers: int) -> Iterator[Iterator[Any]]:
    """Give what joblib's workers make of jobs, in order; none works on for a command that was stopped."""
    from joblib import Parallel

    with silence_pool(), contextlib.ExitStack() as stack:
        with defer_interrupts():
            made = Parallel(n_jobs=workers, return_as="generator")(jobs)
            stack.callback(_close_pool, made)  # here: a Ctrl-C that was put off comes where the block ends
        yield made


def _close_pool(made: Generator[object]) -> None:
    """Stop the workers without the warning about work that they did not finish."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        made.close()
