"""Progress as lines on standard error, for those who ask an estimator to be verbose."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from seq2set.progress import Advance


class Telling:
    """Tells of each stage, when it has ended, what it took and how it stood at the end."""

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:  # noqa: ARG002
        """Measure a stage and tell of it."""
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
