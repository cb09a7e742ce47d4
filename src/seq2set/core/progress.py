"""Progress of long work: a small protocol, so that the library never prints, and two ways to keep it.

The command line draws bars; `Silent` shows nothing, and `StderrProgress` prints a line per stage.
"""

from __future__ import annotations

import sys
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
        yield _ignore

    def note(self, sentence: str) -> None:
        """Print nothing."""


def _ignore(done: int, status: str = "", /) -> None:
    """Show nothing."""


class StderrProgress:
    """Prints how long each stage took and its last status on standard error."""

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:  # noqa: ARG002
        """Measure a stage and print a line about it."""
        last = ""

        def advance(done: int, status: str = "", /) -> None:  # noqa: ARG001
            nonlocal last
            last = status or last

        began = time.perf_counter()
        yield advance
        seconds = f"{time.perf_counter() - began:.1f} s"
        self.note(f"{title}: {seconds}, {last}" if last else f"{title}: {seconds}")

    def note(self, sentence: str) -> None:
        """Write a sentence."""
        sys.stderr.write(f"[Seq2SetClassifier] {sentence}\n")
