"""Dynamic batching: requests that arrive within a small time window share a forward pass.

The event loop gathers, and one thread computes, so that the loop stays free to take requests; those that
arrive during a pass make up the next one. The queue is bounded. A request whose client has left is dropped
before it is computed, and a batcher that is closed finishes what it has accepted.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from seq2set.core.errors import Seq2SetError
from seq2set.server.answers import Answer, LabelRequest
from seq2set.server.errors import busy, unavailable
from seq2set.server.metrics import ServerMetrics
from seq2set.server.settings import ServeSettings

Work = Callable[[Sequence[str], LabelRequest], list[Answer]]


@dataclass(eq=False)
class _Job:
    """The texts of one request, and the promise of their answers."""

    texts: Sequence[str]
    request: LabelRequest
    promise: asyncio.Future[list[Answer]]
    since: float = field(default_factory=lambda: asyncio.get_running_loop().time())


class DynamicBatcher:
    """Answers texts, many at a time; `start` and `close` it inside the event loop that it serves."""

    def __init__(self, work: Work, settings: ServeSettings, metrics: ServerMetrics):
        self._work, self._settings, self._metrics = work, settings, metrics
        self._jobs: deque[_Job] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="seq2set-model")
        self._seconds_per_text = 0.0
        self._closing = False

    def start(self) -> None:
        """Begin to answer."""
        self._arrived, self._full, self._room = asyncio.Event(), asyncio.Event(), asyncio.Condition()
        self._loop = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Take no more, finish what was accepted, and stop."""
        self._closing = True
        self._arrived.set()
        self._full.set()
        await self._loop
        self._thread.shutdown()

    @property
    def accepting(self) -> bool:
        """Whether texts are taken."""
        return not self._closing and not self._loop.done()

    @property
    def waiting(self) -> int:
        """How many texts wait."""
        return sum(len(job.texts) for job in self._jobs)

    async def submit(self, texts: Sequence[str], request: LabelRequest) -> list[Answer]:
        """Answer texts; refused where too many wait already. Cancelling it takes them out of the queue."""
        if self.waiting + len(texts) > self._settings.queue_texts:
            self._metrics.refused.inc()
            seconds = max(1, math.ceil(self.waiting * self._seconds_per_text))
            raise busy(f"{self.waiting} texts wait already; try again in {seconds} s", seconds)
        return await self._queue(texts, request)

    async def submit_patiently(self, texts: Sequence[str], request: LabelRequest) -> list[Answer]:
        """Answer texts, and wait until there is room for them and for as many others."""
        async with self._room:
            await self._room.wait_for(
                lambda: not self._jobs or self.waiting + 2 * len(texts) <= self._settings.queue_texts
            )
        return await self._queue(texts, request)

    async def _queue(self, texts: Sequence[str], request: LabelRequest) -> list[Answer]:
        if not self.accepting:
            raise unavailable("the server is stopping; try again in a moment")
        job = _Job(texts, request, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._metrics.queue_texts.set(self.waiting)
        self._arrived.set()
        if self.waiting >= self._settings.max_batch:
            self._full.set()
        try:
            return await job.promise
        finally:
            if job in self._jobs:  # its client has left, so its texts must not fill the queue
                self._jobs.remove(job)
                self._metrics.dropped.inc()

    async def _run(self) -> None:
        while self._jobs or not self._closing:
            await self._arrived.wait()
            await self._wait_for_others()
            jobs = self._take()
            async with self._room:
                self._room.notify_all()
            if jobs:
                await self._compute(jobs)

    async def _wait_for_others(self) -> None:
        """Wait for texts to share the pass with, unless the oldest has waited long enough."""
        now = asyncio.get_running_loop().time()
        left = self._jobs[0].since + self._settings.window_ms / 1000 - now if self._jobs else 0.0
        if left > 0:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._full.wait(), left)

    def _take(self) -> list[_Job]:
        """Take the oldest request and those equal to it, up to a full batch; drop those without a client."""
        alive = [job for job in self._jobs if not job.promise.done()]
        self._metrics.dropped.inc(len(self._jobs) - len(alive))
        taken: list[_Job] = []
        texts = 0
        for job in alive:
            fits = job.request == alive[0].request and texts + len(job.texts) <= self._settings.max_batch
            if not taken or fits:
                taken.append(job)
                texts += len(job.texts)
        self._jobs = deque(job for job in alive if job not in taken)
        self._metrics.queue_texts.set(self.waiting)
        if not self._closing:
            if not self._jobs:
                self._arrived.clear()
            if self.waiting < self._settings.max_batch:
                self._full.clear()
        return taken

    async def _compute(self, jobs: Sequence[_Job]) -> None:
        loop = asyncio.get_running_loop()
        texts = [text for job in jobs for text in job.texts]
        self._metrics.batch_texts.observe(len(texts))
        began = loop.time()
        try:
            answers = iter(await loop.run_in_executor(self._thread, self._work, texts, jobs[0].request))
        except Exception as error:
            if len(jobs) > 1 and not isinstance(error, Seq2SetError):
                # A text that breaks the model must not spoil the requests that happened to share its pass.
                for job in jobs:
                    await self._compute([job])
                return
            for job in jobs:
                if not job.promise.done():
                    job.promise.set_exception(error)
        else:
            self._seconds_per_text = (loop.time() - began) / len(texts)
            for job in jobs:
                found = [next(answers) for _ in job.texts]
                if not job.promise.done():
                    job.promise.set_result(found)
