"""Sides that run in processes of their own.

What a side leaves in a process changes the time of the other: a C library whose heap one of them has
stretched hands out memory that the other would have had to fetch from the system page by page. Apart, each
has what it has in a program of its own. They still take turns, and the best time of each counts.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Timed(Generic[Result]):
    """How long a side took for the part that counts, and what it found."""

    seconds: float
    result: Result


def best_apart(
    ours: Callable[[], Timed[Result]], theirs: Callable[[], Timed[Result]], rounds: int
) -> tuple[Timed[Result], Timed[Result]]:
    """Call both sides in turns, each in its own process; return the quickest call of each."""
    context = multiprocessing.get_context("spawn")  # A copy of this process would have its memory.
    with ExitStack() as stack:
        workers = [stack.enter_context(ProcessPoolExecutor(1, context)) for _ in range(2)]
        pairs = list(zip(workers, (ours, theirs), strict=True))
        calls = [[worker.submit(side).result() for worker, side in pairs] for _ in range(rounds)]
    first, second = (min(side, key=lambda call: call.seconds) for side in zip(*calls, strict=True))
    return first, second
