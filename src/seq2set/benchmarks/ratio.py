"""How a ratio is measured: the sides take turns, and the best time of each counts.

Turns, because a busy machine slows whatever runs at that moment; the best time, because noise
only ever adds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

Side = Callable[[], object]


class Ratio(NamedTuple):
    """How many times faster we are than the opponent."""

    name: str
    opponent: str
    ours: float
    theirs: float
    shapes: dict[str, Any]
    checks: dict[str, Any] | None = None
    """What else the same run found out, such as how far the results of the two sides lie apart"""

    @property
    def ratio(self) -> float:
        """The opponent's seconds by ours."""
        return self.theirs / self.ours

    @property
    def cost(self) -> float:
        """Our seconds by the opponent's, where the opponent is a part or a cheaper kind of our work."""
        return self.ours / self.theirs

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


def measure(
    name: str, opponent: str, ours: Side, theirs: Side, shapes: dict[str, Any], rounds: int = 3
) -> Ratio:
    """Time both sides in turns."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for side, work in enumerate((ours, theirs)):
            best[side] = min(best[side], seconds(work))
    return Ratio(name, opponent, best[0], best[1], shapes)


def seconds(work: Side) -> float:
    """Time one piece of work."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
