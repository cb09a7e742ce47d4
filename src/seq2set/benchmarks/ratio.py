"""How a ratio is measured: the sides take turns, and the best time of each counts.

Turns, because a busy machine slows whatever runs at that moment; the best time, because noise only ever adds.
Times are those that the processor worked, in one thread, which other processes hardly change; `threads` and
`serve` alone measure the clock on the wall.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from seq2set.core.errors import WorkError
from seq2set.core.hardware import limit_threads

Side = Callable[[], object]


class Ratio(NamedTuple):
    """How many times faster, or smaller, we are than the opponent."""

    name: str
    opponent: str
    ours: float
    theirs: float
    shapes: dict[str, Any]
    checks: dict[str, Any] | None = None
    """What else the same run found, such as how far the results of the two sides lie apart"""
    unit: str = "seconds"
    """What the two sides are compared in; other than seconds, bytes"""
    seconds: tuple[float, float] | None = None
    """What both sides took, where they are compared in something else"""

    @property
    def ratio(self) -> float:
        """What the opponent takes by what we take."""
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
        ours, theirs = self.seconds or (self.ours, self.theirs)
        found: dict[str, Any] = {
            "name": self.name,
            "ratio": round(self.ratio, 3),
            "opponent": self.opponent,
            "seconds": {"ours": ours, "opponent": theirs},
            "shapes": self.shapes,
        }
        if self.unit != "seconds":
            found[self.unit] = {"ours": self.ours, "opponent": self.theirs}
        return found if self.checks is None else found | {"checks": self.checks}

    def summarize(self) -> str:
        """Return the lines that `bench` prints."""
        lines = [
            f"{self.name}: {self.describe()}",
            f"  {format_value(self.ours)} against {format_value(self.theirs)} {self.unit}",
            f"  measured on: {format_values(self.shapes)}",
        ]
        return "\n".join([*lines, *(f"  {line}" for line in list_checks(self.checks or {}))])

    def describe(self) -> str:
        """Say how we compare with the opponent."""
        how = "fast" if self.unit == "seconds" else "small"
        return f"{self.ratio:,.2f} times as {how} as {self.opponent}"


def list_checks(checks: Mapping[str, Any]) -> list[str]:
    """Return a line for each thing that a run found beside its ratio."""
    return [
        f"{name.replace('_', ' ')}: {format_values(one) if isinstance(one, Mapping) else format_value(one)}"
        for name, one in checks.items()
    ]


def format_values(values: Mapping[Any, Any]) -> str:
    """Return named values as they stand in a sentence."""
    return ", ".join(f"{str(name).replace('_', ' ')} {format_value(value)}" for name, value in values.items())


def format_value(value: Any) -> str:
    """Return a value to be read: numbers with commas, what is inside of something in brackets."""
    if isinstance(value, Mapping):
        return f"({format_values(value)})"
    if isinstance(value, list | tuple):
        return " / ".join(map(format_value, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return str(value)


def measure_ratio(
    name: str, opponent: str, ours: Side, theirs: Side, shapes: dict[str, Any], rounds: int = 3
) -> Ratio:
    """Time both sides in turns, in one thread."""
    best = [float("inf"), float("inf")]
    with limit_threads(1):
        for _ in range(rounds):
            for side, work in enumerate((ours, theirs)):
                best[side] = min(best[side], time_call(work))
    return Ratio(name, opponent, best[0], best[1], shapes)


def time_call(work: Side) -> float:
    """Return the seconds that the processor works on one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


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


class ProcessCost(NamedTuple):
    """What a process took, those that it started included."""

    seconds: float
    """That processors worked"""
    memory: int
    """The most bytes of memory that one of them had"""


_LAUNCHER = """
import json, resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss * unit]))
"""


def run_apart(*arguments: str) -> ProcessCost:
    """Run Python with some arguments, and return what that took.

    A small process starts it: on Linux a process counts the memory of the one that it came from.
    """
    command = [sys.executable, "-S", "-c", _LAUNCHER, sys.executable, *arguments]
    # What is run is this very package.
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    code, seconds, memory = json.loads(done.stdout)
    if code:
        last = (done.stderr.strip().splitlines() or [f"exit code {code}"])[-1]
        raise WorkError(f"the benchmark's process {' '.join(arguments[:4])} ended with: {last}")
    return ProcessCost(seconds, memory)


def run_in_turns(sides: Sequence[Sequence[str]], rounds: int) -> list[ProcessCost]:
    """Run processes in turns, and return the least that each took."""
    calls = [[run_apart(*side) for side in sides] for _ in range(rounds)]
    return [
        ProcessCost(min(one.seconds for one in side), min(one.memory for one in side))
        for side in zip(*calls, strict=True)
    ]
