"""Dynamic batching: requests that arrive within a small time window share a forward pass.

The event loop gathers, and model processes compute; what arrives while all of them are busy makes up the next
passes. The queue is bounded. A request whose client has left is dropped before it is computed, and a batcher
that is closed finishes what it has accepted.

Queueing is fair by cost (start-time fair queueing): a long request is computed in parts, and each part moves
it back in the queue by what it cost, so that short requests come in between.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress

from seq2set.core.errors import InputError
from seq2set.core.processes import EndedProcessError
from seq2set.server.answers import LabelRequest
from seq2set.server.errors import refuse_busy, refuse_stopping, refuse_unavailable
from seq2set.server.jobs import PASS_CHARS, PASS_COST, Job, Part, estimate_cost, fits_in_pass
from seq2set.server.metrics import ServerMetrics
from seq2set.server.model_pool import ModelPool, ModelProcess
from seq2set.server.model_process import TextBatch
from seq2set.server.settings import ServeSettings

PATIENCE = 4
"""How many times `answer_seconds` a request may take by estimate, which is rough, before it is refused."""


class DynamicBatcher:
    """Answers texts, many at a time; `start` and `close` it inside the event loop that it serves."""

    def __init__(self, pool: ModelPool, settings: ServeSettings, metrics: ServerMetrics, labels: int = 0):
        self._pool, self._settings, self._metrics, self._labels = pool, settings, metrics, labels
        self._jobs: list[Job] = []
        self._open: set[Job] = set()
        self._passes: set[asyncio.Task[None]] = set()
        self._seconds_per_cost = 0.0
        self._turn = 0.0
        self._long_passes = 0
        self._closing = False

    def start(self) -> None:
        """Begin to answer."""
        self._arrived, self._full, self._room = asyncio.Event(), asyncio.Event(), asyncio.Condition()
        self._pool.start(self._metrics)
        self._loop = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Take no more, finish what was accepted, and stop."""
        self._closing = True
        self._full.set()
        while self._open:
            await asyncio.wait([job.promise for job in self._open])
            await asyncio.sleep(0)  # lets whoever waits for it take the answer
        self._loop.cancel()
        await asyncio.gather(self._loop, *self._passes, return_exceptions=True)
        self._pool.kill()

    def drop(self) -> None:
        """Refuse all that was accepted and is not answered yet."""
        self._closing = True
        for job in self._open:
            job.fail(refuse_stopping())
        self._pool.kill()

    @property
    def accepting(self) -> bool:
        """Whether texts are taken."""
        return not self._closing and self.healthy

    @property
    def healthy(self) -> bool:
        """Whether texts that are taken will be answered."""
        return not self._loop.done() and self._pool.alive > 0

    @property
    def waiting(self) -> int:
        """How many texts wait."""
        return sum(job.waiting for job in self._jobs)

    async def submit(self, texts: Sequence[str], request: LabelRequest) -> list[bytes]:
        """Answer texts; refused where too many wait already. Cancelling it takes them out of the queue."""
        job = self._make_job(texts, request)
        # Until it is answered, no other request is served more than it costs itself.
        cost = sum(min(one.cost, job.cost) for one in self._jobs) + job.cost
        seconds = math.ceil(cost * self._seconds_per_cost / self._pool.size)
        if self.waiting + len(texts) > self._settings.queue_texts:
            self._metrics.refused.inc()
            pause = max(1, seconds)
            raise refuse_busy(f"{self.waiting} texts wait already; try again in {pause} s", pause)
        if seconds > PATIENCE * self._settings.answer_seconds:
            self._metrics.refused.inc()
            if not self._open:  # or one pass that took very long would close the server for good
                self._seconds_per_cost /= 2
            most = f"{self._settings.answer_seconds:g} s (answer_seconds) are allowed"
            raise refuse_busy(
                f"the answer would take about {seconds} s, and {most}; send fewer or shorter texts", 10
            )
        return await self._queue(job)

    async def submit_patiently(self, texts: Sequence[str], request: LabelRequest) -> list[bytes]:
        """Answer texts, and wait until there is room for them and for as many others."""
        most = self._settings.queue_texts - 2 * len(texts)
        async with self._room:
            await self._room.wait_for(lambda: not self._jobs or self.waiting <= most)
        return await self._queue(self._make_job(texts, request))

    def _make_job(self, texts: Sequence[str], request: LabelRequest) -> Job:
        loop = asyncio.get_running_loop()
        costs, most = [estimate_cost(text, request, self._labels) for text in texts], self._settings.max_batch
        passes = (sum(costs) / PASS_COST, sum(map(len, texts)) / PASS_CHARS, len(texts) / most)
        is_long = max(passes) > 1
        return Job(texts, request, costs, loop.create_future(), loop.time(), self._turn, is_long)

    async def _queue(self, job: Job) -> list[bytes]:
        if self._closing:
            raise refuse_stopping()
        if not self.healthy:
            raise refuse_unavailable("no model process is running; try again in a moment")
        self._jobs.append(job)
        self._open.add(job)
        self._metrics.queue_texts.set(self.waiting)
        self._arrived.set()
        if self.waiting >= self._settings.max_batch:
            self._full.set()
        try:
            return await job.promise
        finally:
            self._open.discard(job)
            if job in self._jobs:  # its client has left, so its texts must not fill the queue
                self._jobs.remove(job)
                self._metrics.dropped.inc()

    async def _run(self) -> None:
        while True:
            await self._arrived.wait()
            process = await self._pool.take()
            await self._wait_for_others()
            parts = self._take()
            async with self._room:
                self._room.notify_all()
            if parts:
                task = asyncio.create_task(self._pass(process, parts))
                self._passes.add(task)
                task.add_done_callback(self._passes.discard)
            else:
                self._pool.give_back(process)

    async def _wait_for_others(self) -> None:
        """Wait for texts to share the pass with, unless the oldest has waited long enough."""
        now = asyncio.get_running_loop().time()
        since = min((job.since for job in self._jobs), default=now)
        left = since + self._settings.window_ms / 1000 - now if self._jobs else 0.0
        if left > 0:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._full.wait(), left)

    def _take(self) -> list[Part]:
        """Take what is first in the queue and what is asked the same, up to a full pass."""
        alive = [job for job in self._jobs if not job.promise.done()]
        self._metrics.dropped.inc(len(self._jobs) - len(alive))
        # Long requests never have all processes, or a short one would wait for the end of a long pass.
        most_passes = max(1, self._pool.size - 1)
        may_begin = self._long_passes < most_passes
        ready = sorted((job for job in alive if may_begin or not job.is_long), key=lambda job: job.turn)
        # Other processes that are idle get their share.
        most = min(self._settings.max_batch, math.ceil(self.waiting / (1 + self._pool.idle)))
        parts: list[Part] = []
        for job in ready:
            part = job.plan_part(self._settings.max_batch)
            alike = (job.request, job.is_long) == (ready[0].request, ready[0].is_long)
            if not parts or (alike and fits_in_pass((*parts, part), most)):
                parts.append(part)
        for part in parts:
            self._turn = max(self._turn, part.job.turn)
            part.job.turn += part.cost
            part.job.taken = part.end
        self._long_passes += any(part.job.is_long for part in parts)
        self._jobs = [job for job in alive if job.waiting]
        self._metrics.queue_texts.set(self.waiting)
        if not self._jobs or not parts:
            self._arrived.clear()  # the end of a pass sets it again
        if self.waiting < self._settings.max_batch and not self._closing:
            self._full.clear()
        return parts

    async def _pass(self, process: ModelProcess, parts: Sequence[Part]) -> None:
        try:
            await self._compute(process, parts)
        finally:
            self._long_passes -= any(part.job.is_long for part in parts)
            if self._jobs:
                self._arrived.set()

    async def _compute(self, process: ModelProcess, parts: Sequence[Part], *, repeated: bool = False) -> None:
        loop = asyncio.get_running_loop()
        texts = [text for part in parts for text in part.texts]
        batch = TextBatch(texts, parts[0].job.request, any(part.job.is_long for part in parts))
        self._metrics.batch_texts.observe(len(texts))
        began = loop.time()
        try:
            answers = iter(await self._pool.answer(process, batch))
        except Exception as error:
            await self._handle_failure(error, parts, repeated=repeated)
            return
        seconds_per_cost = (loop.time() - began) / sum(part.cost for part in parts)
        weight = 0.2 if self._seconds_per_cost else 1
        self._seconds_per_cost += (seconds_per_cost - self._seconds_per_cost) * weight
        for part in parts:
            part.job.keep(part.start, [next(answers) for _ in part.texts])

    async def _handle_failure(self, error: Exception, parts: Sequence[Part], *, repeated: bool) -> None:
        """Compute each request by itself, once, where another may be to blame or the process has ended."""
        ended = isinstance(error, EndedProcessError)
        may_help = len(parts) > 1 or (ended and not repeated)
        if may_help and not self._closing and not isinstance(error, InputError):
            for part in (one for one in parts if not one.job.promise.done()):
                await self._compute(await self._pool.take(), [part], repeated=True)
            return
        for part in parts:
            part.job.fail(refuse_unavailable(str(error)) if ended else error)
            if part.job in self._jobs:
                self._jobs.remove(part.job)
