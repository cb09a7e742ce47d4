"""How many threads compute an update where the settings leave it open: as many as real updates say.

A second thread makes updates up to one and a half times as fast on a quiet machine, and many times slower as
soon as another process wants its core. What else the machine does changes, so updates with one thread and
with all take turns at the beginning and again every few minutes, and the faster number is kept in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from seq2set.core.hardware import count_cores

TURNS = 3
"""Updates that each number of threads is timed on."""

INTERVAL = 180.0
"""Seconds for which a choice stands."""

WORTH = 1.05
"""How many times as fast all threads must be to be chosen."""


class ThreadChoice:
    """Chooses the threads of each update; a number instead of `auto` is no choice."""

    def __init__(self, wanted: int | str, clock: Callable[[], float] = time.perf_counter):
        self.all = count_cores() if isinstance(wanted, str) else wanted
        self.threads, self.reason = self.all, ""
        self._open = isinstance(wanted, str) and self.all > 1
        self._clock, self._until = clock, float("-inf")
        self._times: dict[int, list[float]] = {}

    @contextmanager
    def apply(self, words: int) -> Iterator[None]:
        """Compute an update on `words` words with the threads whose turn it is."""
        began = self._clock()
        timed = self._open and began >= self._until
        if timed:
            self.threads = min((1, self.all), key=lambda number: len(self._times.get(number, ())))
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        yield
        if timed:
            self._times.setdefault(self.threads, []).append((self._clock() - began) / words)
            self._decide()

    def _decide(self) -> None:
        """Choose when both numbers have had their turns; the first of each may have had to warm up."""
        one, several = (self._times.get(number, [])[1:] for number in (1, self.all))
        if len(several) < TURNS:
            return
        faster = sum(one) / sum(several)
        self.threads = self.all if faster > WORTH else 1
        self.reason = f"{self.all} were {faster:.2f} times as fast as 1"
        self._times, self._until = {}, self._clock() + INTERVAL

    def describe(self) -> str:
        """Say what was chosen and why, in a few words; nothing where there was nothing to choose."""
        return f"{self.threads} of {self.all} threads: {self.reason}" if self.reason else ""
