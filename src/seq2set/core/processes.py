"""Worker processes that stop with whoever started them.

A worker's standard input is a pipe from the process that started it. When the pipe is closed, on purpose or
because that process died, the worker stops as after Ctrl-C, with everything saved.

The processes of joblib's pool, which fit linear classifiers, know no such pipe: the process that uses them
ends them. Whatever they and the library's own threads would say about it comes after the command's last
sentence, or between its lines, and helps nobody; so they hear no Ctrl-C, and nothing of it is printed.

SIGINT and SIGTERM as a polite request: finish the update, save, and stop.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

KEPT = str(2**30)
"""Bytes that a worker may free and keep; also the size from which memory is asked for by itself."""


def build_worker_environment() -> dict[str, str]:
    """Return the environment of a training beside others, which keeps the memory that it frees.

    An update frees hundreds of megabytes. The C library gives them back to the system, which hands them out
    again page by page, filled with zeros; trainings that run at the same time are in each other's way there.
    What the user has set stands. Other C libraries take no notice.
    """
    return {"MALLOC_TRIM_THRESHOLD_": KEPT, "MALLOC_MMAP_THRESHOLD_": KEPT} | os.environ


@contextmanager
def stop_with_pipe(pipe: int) -> Iterator[None]:
    """Interrupt the block when the other end of the pipe is closed; what comes after it is left alone."""
    done, before = threading.Event(), signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        # So it is in whatever a shell started in the background; an interruption would go unheard.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=_interrupt_at_the_end_of, args=(pipe, done), daemon=True).start()
        yield
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)


def _interrupt_at_the_end_of(pipe: int, done: threading.Event) -> None:
    while os.read(pipe, 1):
        pass
    if not done.is_set():
        _interrupt_main()


def _interrupt_main() -> None:
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        # A real signal also wakes a main thread that waits in a call of the system.
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let processes that start in the block ignore Ctrl-C for good; in this one it is only put off.

    A terminal sends it to all processes of a command at once, and each would print a traceback. Two of them
    only remove what a killed command leaves, which is what they are for, and do so without a warning.
    """
    with _environment(PYTHONWARNINGS=_and_no_leaks(os.environ.get("PYTHONWARNINGS"))):
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


def _and_no_leaks(filters: str | None) -> str:
    return ",".join([*filter(None, [filters]), "ignore:resource_tracker:UserWarning"])


@contextmanager
def _environment(**changes: str) -> Iterator[None]:
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
    """Drop the traceback of the thread that manages joblib's pool when it is told to end in mid-work."""
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


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Remembers that a stop was asked for; a second request is not held back."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():  # only there may signals be handled
            self._before = {number: signal.signal(number, self._ask) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _ask(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.asked = True
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
