"""How a ratio is measured: the sides take turns, and the best time of each counts.

Turns, because a busy machine slows whatever runs at that moment; the best time, because noise
only ever adds.

What something costs as a multiple of an opponent that is a part, or a cheaper kind, of the same work.

Sides that run in processes of their own.

What a side leaves in a process changes the time of the other: a C library whose heap one of them has
stretched hands out memory that the other would have had to fetch from the system page by page. Apart, each
has what it has in a program of its own. They still take turns, and the best time of each counts.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from seq2set.benchmarks.inputs import MODELS, Learner, Shape, made_documents, mean_labels, new_learner
from seq2set.training.examples import EncodedExamples

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


def costliest(
    measured: Callable[[Learner, EncodedExamples], Ratio],
    limit: float,
    *,
    documents: int,
    shape: Shape,
    settings: Sequence[str],
    settling: int,
) -> Ratio:
    """Measure all models and return the ratio of the one that costs the most, with the costs of all.

    Each model first learns realistic set sizes in `settling` updates. A model's own shapes stand under its
    name beside those that all share.
    """
    examples = made_documents(documents, shape)
    results = {}
    for model in MODELS:
        learner = new_learner(model, shape, settings)
        learner.settle(shape, settling)
        results[model] = measured(learner, examples)
    most = max(results, key=lambda model: results[model].cost)
    shared = {"documents": documents, **shape.to_dict(), "labels_a_document": mean_labels(examples)}
    own = {model: result.shapes for model, result in results.items()}
    costs = {model: round(result.cost, 3) for model, result in results.items()}
    return results[most]._replace(
        shapes=shared | {"settling_updates": settling} | own,
        checks={"cost": costs, "limit": limit, "ratio_is_of": most},
    )


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
