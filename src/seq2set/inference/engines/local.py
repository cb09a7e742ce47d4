"""The local engine: one process per core, each with one thread; one process for what is little.

A thread per process hands it a block and waits for the answer, so that reading and writing, which the main
thread does, go on meanwhile. A process that dies is started again and gets its block a second time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from seq2set.config.catalog import find_model
from seq2set.core.errors import WorkError
from seq2set.core.hardware import count_cores, limit_threads
from seq2set.core.processes import build_worker_environment
from seq2set.inference.engines.blocks import (
    BlockResult,
    Engine,
    EngineSettings,
    Texts,
    from_plain,
    predict_block,
    request_to_plain,
)
from seq2set.inference.engines.worker import THREADS, raise_error
from seq2set.inference.model_folder import read_model_name
from seq2set.inference.predictor import Predictor

PAYING = {"linear": 8_192, "network": 1_024}
"""Texts per process from which on a second one pays: a core does about as many while it starts."""
ATTEMPTS = 3
"""How often a block is given to a process, where the processes die of it."""
COMMAND = ("-m", "seq2set.inference.engines.worker")
WAITING = 2
"""Blocks per process that are read ahead."""


def open_local(settings: EngineSettings) -> AbstractContextManager[Engine]:
    """Return processes, or this one alone where more do not pay."""
    workers = choose_workers(settings)
    return nullcontext(InProcess(settings)) if workers == 1 else WorkerProcesses(settings, workers)


def choose_workers(settings: EngineSettings) -> int:
    """Return how many processes to use: as the settings say, else by the texts and the cores."""
    if settings.workers is not None:
        return settings.workers
    if settings.documents is None:
        return count_cores()
    if settings.documents < 2 * min(PAYING.values()):  # whatever the model is, which takes time to find out
        return 1
    linear = find_model(read_model_name(settings.model)).family == "linear"
    pays = settings.documents // PAYING["linear" if linear else "network"]
    return max(1, min(count_cores(), pays))


class InProcess:
    """Computes blocks in this process, one when it is taken."""

    def __init__(self, settings: EngineSettings):
        self.request = settings.request
        self.predictor = Predictor.open(settings.model, settings.runtime)

    def map(self, blocks: Iterable[Texts]) -> Iterator[BlockResult]:
        """Compute one block after the other."""
        with limit_threads():  # as in all processes: more threads add numbers up in another order
            for texts in blocks:
                yield predict_block(self.predictor, texts, self.request)


class BlockProcessEndedError(WorkError):
    """A process ended before it had answered."""


class BlockProcess:
    """A process that computes blocks, started when it gets its first."""

    def __init__(self, settings: EngineSettings):
        request = request_to_plain(settings.request)
        self._hello = {"model": str(settings.model), "runtime": settings.runtime, "request": request}
        self._process: subprocess.Popen[bytes] | None = None

    def compute(self, texts: Texts) -> dict[str, Any]:
        """Compute a block and return the answer; a process that has died is replaced at the next call."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # then there is no answer either
            process.stdin.write(json.dumps(texts).encode() + b"\n")
            process.stdin.flush()
        if not (line := process.stdout.readline()).endswith(b"\n"):
            code = process.wait()
            self.end()
            raise BlockProcessEndedError(f"ended with code {code}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(  # noqa: S603 (this very program)
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=build_worker_environment() | THREADS,
            start_new_session=True,  # Ctrl-C reaches this process only, which ends the others
        )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(self._hello).encode() + b"\n")
        return self._process

    def end(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:  # closes the pipes and waits for its end
                pass


class WorkerProcesses:
    """Several processes; leaving the context ends them."""

    def __init__(self, settings: EngineSettings, size: int):
        self.processes = [BlockProcess(settings) for _ in range(size)]
        self._idle: SimpleQueue[BlockProcess] = SimpleQueue()
        for process in self.processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="seq2set-block")
        self._closed = False

    def __enter__(self) -> WorkerProcesses:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self.processes:
            process.end()
        self._threads.shutdown()
        for process in self.processes:  # one may have started in the meantime
            process.end()

    def map(self, blocks: Iterable[Texts]) -> Iterator[BlockResult]:
        """Compute blocks, enough of them ahead of what is taken that no process waits."""
        waiting: deque[Future[dict[str, Any]]] = deque()
        for texts in blocks:
            waiting.append(self._threads.submit(self._compute, texts))
            if len(waiting) > WAITING * len(self.processes):
                yield _take(waiting)
        while waiting:
            yield _take(waiting)

    def _compute(self, texts: Texts) -> dict[str, Any]:
        process = self._idle.get()
        try:
            return self._try(process, texts)
        finally:
            self._idle.put(process)

    def _try(self, process: BlockProcess, texts: Texts, attempt: int = 1) -> dict[str, Any]:
        try:
            return process.compute(texts)
        except BlockProcessEndedError as error:
            if attempt < ATTEMPTS and not self._closed:
                return self._try(process, texts, attempt + 1)
            raise WorkError(
                f"a worker process {error}, {attempt} times on the same {len(texts)} texts; if the memory is "
                "too small, --workers 1 needs the least"
            ) from error


def _take(waiting: deque[Future[dict[str, Any]]]) -> BlockResult:
    answer = waiting.popleft().result()
    raise_error(answer)
    return from_plain(answer)
