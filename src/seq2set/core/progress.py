"""Progress of long work: a small protocol, so that the library never prints, and two ways to keep it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Advance(Protocol):
    """Reports how many units were done since the last call and, where there is news, a status."""

    def __call__(self, done: int, status: str = "", /) -> None:
        """Advance by `done` units."""


class Progress(Protocol):
    """Shows stages of work; the command line draws bars, libraries and tests stay silent."""

    def stage(self, title: str, total: int | None = None) -> AbstractContextManager[Advance]:
        """Open a stage of `total` units and return the function that advances it."""

    def note(self, sentence: str) -> None:
        """Tell the user something worth knowing about the work."""


class Silent:
    """Shows nothing."""

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:  # noqa: ARG002
        """Open a stage that nobody sees."""
        yield lambda *_: None

    def note(self, sentence: str) -> None:
        """Print nothing."""


class StderrProgress:
    """Prints a line per stage on standard error: how long it took, and how far it is while it takes long."""

    INTERVAL = 30.0
    """Seconds after which a stage says that it is still at work"""

    def __init__(self, prefix: str = ""):
        self.prefix = prefix

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        """Measure a stage, print how it stands now and then, and a line about it in the end."""
        done, last = 0, ""
        began, ended = time.perf_counter(), threading.Event()

        def advance(more: int, status: str = "", /) -> None:
            nonlocal done, last
            done, last = done + more, status or last

        def tell(so_far: str = "") -> None:
            seconds = f"{title}: {time.perf_counter() - began:.1f} s"
            self.note(", ".join(filter(None, [seconds, so_far, last])))

        def repeat() -> None:
            while not ended.wait(self.INTERVAL):
                tell(f"{done:,} of {total:,} so far" if total else f"{done:,} so far")

        watch = threading.Thread(target=repeat, daemon=True)
        watch.start()
        try:
            yield advance
        finally:
            ended.set()
            watch.join()
        tell()

    def note(self, sentence: str) -> None:
        """Write a sentence."""
        sys.stderr.write(f"{self.prefix}{sentence}\n")
        sys.stderr.flush()
