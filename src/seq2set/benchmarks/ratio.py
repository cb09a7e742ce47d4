"""How a ratio is measured: the sides take turns, and the best time of each counts.

Turns, because a busy machine slows whatever runs at that moment; the best time, because noise only ever adds.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

Side = Callable[[], object]


class Ratio(NamedTuple):
    """How many times faster we are than the opponent."""

    name: str
    opponent: str
    ours: float
    theirs: float
    shapes: dict[str, Any]
    checks: dict[str, Any] | None = None
    """What else the same run found, such as how far the results of the two sides lie apart"""

    @property
    def ratio(self) -> float:
        """The opponent's seconds by ours."""
        return self.theirs / self.ours

    @property
    def cost(self) -> float:
        """Our seconds by the opponent's, where the opponent is a part or a cheaper kind of our work."""
        return self.ours / self.theirs

    @property
    def failure(self) -> str | None:
        """A ratio is only reported: it never fails."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `bench --json` prints."""
        found = {
            "name": self.name,
            "ratio": round(self.ratio, 3),
            "opponent": self.opponent,
            "seconds": {"ours": self.ours, "opponent": self.theirs},
            "shapes": self.shapes,
        }
        return found if self.checks is None else found | {"checks": self.checks}

    def summarize(self) -> str:
        """Return the lines that `bench` prints."""
        first = (
            f"{self.name}: {self.ratio:.2f} times as fast as {self.opponent} "
            f"({self.ours:.3f} s against {self.theirs:.3f} s; {self.shapes})"
        )
        return f"{first}\nchecks: {self.checks}" if self.checks else first


def measure_ratio(
    name: str, opponent: str, ours: Side, theirs: Side, shapes: dict[str, Any], rounds: int = 3
) -> Ratio:
    """Time both sides in turns."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for side, work in enumerate((ours, theirs)):
            best[side] = min(best[side], time_call(work))
    return Ratio(name, opponent, best[0], best[1], shapes)


def time_call(work: Side) -> float:
    """Return the seconds that one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


Result = TypeVar("Result")


@dataclass(frozen=True)
class TimedResult(Generic[Result]):
    """How long a side took for the part that counts, and what it found."""

    seconds: float
    result: Result


def call_apart(
    ours: Callable[[], TimedResult[Result]], theirs: Callable[[], TimedResult[Result]], rounds: int
) -> tuple[TimedResult[Result], TimedResult[Result]]:
    """Call both sides in turns, each in its own process; return the quickest call of each.

    What a side leaves in a process changes the time of the other: a C library whose heap one of them has
    stretched hands out memory that the other would have had to fetch from the system page by page.
    """
    context = multiprocessing.get_context("spawn")  # A copy of this process would have its memory.
    with ExitStack() as stack:
        workers = [stack.enter_context(ProcessPoolExecutor(1, context)) for _ in range(2)]
        pairs = list(zip(workers, (ours, theirs), strict=True))
        calls = [[worker.submit(side).result() for worker, side in pairs] for _ in range(rounds)]
    first, second = (min(side, key=lambda call: call.seconds) for side in zip(*calls, strict=True))
    return first, second
