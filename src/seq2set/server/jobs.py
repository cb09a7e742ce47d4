"""The texts of one request as a job of the queue, which is computed in one pass or in parts.

A job answers its request when the answers of all its parts are there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from seq2set.server.answers import LabelRequest

PASS_COST = 500_000
"""The largest cost of a pass, unless a single text costs more: 64 usual texts, or 4 very long ones."""

PASS_CHARS = 100_000
"""Characters of a pass, unless a single text has more: reading takes memory, and others wait for its end."""


def estimate_cost(text: str, request: LabelRequest, labels: int) -> float:
    """Return what a text costs a model with this number of labels, in characters that are read.

    The fixed part stands for the network, which reads the first words of a text only.
    """
    explained = min(labels, request.candidates or request.top_k or 8) if request.explain else 0
    return 4_000 + len(text) + explained * (300 + len(text) / 10)


@dataclass(eq=False)
class Job:
    """The texts of one request, and the promise of their answers."""

    texts: Sequence[str]
    request: LabelRequest
    costs: Sequence[float]
    promise: asyncio.Future[list[bytes]]
    since: float
    turn: float
    """Its place in the queue: the cost that others of the same age have been served"""
    is_long: bool
    """Whether it needs more than one pass"""
    taken: int = 0
    answers: dict[int, bytes] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """How many of its texts no pass has taken yet."""
        return len(self.texts) - self.taken

    @property
    def cost(self) -> float:
        """What these texts cost."""
        return sum(self.costs[self.taken :])

    def plan_part(self, most: int) -> Part:
        """Return the next texts, as many as one pass should have, and one at least."""
        start = self.taken
        end = start + 1
        while end < min(len(self.texts), start + most) and fits_in_pass([self._cut(start, end + 1)], most):
            end += 1
        return self._cut(start, end)

    def _cut(self, start: int, end: int) -> Part:
        return Part(self, start, end, sum(self.costs[start:end]))

    def keep(self, start: int, answers: Sequence[bytes]) -> None:
        """Take the answers of a part; the last part's fulfil the promise."""
        self.answers |= enumerate(answers, start)
        if len(self.answers) == len(self.texts) and not self.promise.done():
            self.promise.set_result([self.answers[place] for place in range(len(self.texts))])

    def fail(self, error: Exception) -> None:
        """Answer with an error, unless there is an answer already."""
        if not self.promise.done():
            self.promise.set_exception(error)


class Part(NamedTuple):
    """Some texts of a request that are computed in one pass."""

    job: Job
    start: int
    end: int
    cost: float

    @property
    def texts(self) -> Sequence[str]:
        """The texts themselves."""
        return self.job.texts[self.start : self.end]


def fits_in_pass(parts: Sequence[Part], most: int) -> bool:
    """Say whether one pass can compute these parts: `most` texts at most, neither too dear nor too long."""
    texts = [text for one in parts for text in one.texts]
    cost, chars = sum(one.cost for one in parts), sum(map(len, texts))
    return len(texts) <= most and cost <= PASS_COST and chars <= PASS_CHARS
