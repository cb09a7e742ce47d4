"""Worker processes that stop with whoever started them.

A worker's standard input is a pipe from the process that started it. When the pipe is closed, on purpose or
because that process died, the worker stops as after Ctrl-C, with everything saved.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

KEPT = str(2**30)
"""Bytes that a worker may free and keep; also the size from which memory is asked for by itself."""


def worker_environment() -> dict[str, str]:
    """Return the environment of a training beside others, which keeps the memory that it frees.

    An update frees hundreds of megabytes. The C library gives them back to the system, which hands them out
    again page by page, filled with zeros; trainings that run at the same time are in each other's way there.
    What the user has set stands. Other C libraries take no notice.
    """
    return {"MALLOC_TRIM_THRESHOLD_": KEPT, "MALLOC_MMAP_THRESHOLD_": KEPT} | os.environ


@contextmanager
def stopping_with(pipe: int) -> Iterator[None]:
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
