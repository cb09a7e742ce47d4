"""Worker processes that stop with whoever started them.

A worker's standard input is a pipe from the process that started it. When the pipe is closed, on purpose or
because that process died, the worker stops as after Ctrl-C, with everything saved.
"""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stopping_with(pipe: int) -> Iterator[None]:
    """Interrupt the block when the other end of the pipe is closed; what comes after it is left alone."""
    done = threading.Event()
    threading.Thread(target=_interrupt_at_the_end_of, args=(pipe, done), daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _interrupt_at_the_end_of(pipe: int, done: threading.Event) -> None:
    while os.read(pipe, 1):
        pass
    if not done.is_set():
        _thread.interrupt_main()
