"""The model processes behind one front: batches go to those that are idle, and one that dies is replaced."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from seq2set.core.errors import InputError, WorkError
from seq2set.core.hardware import KEPT_HEAP
from seq2set.core.processes import AnsweringProcess, EndedProcessError
from seq2set.server.metrics import ServerMetrics
from seq2set.server.model_process import Message, TextBatch, read_answers, read_message

_log = logging.getLogger(__name__)

LONGEST_PAUSE = 30.0
"""Seconds between attempts to replace a process, at the most."""


# In a session of its own, a process would have a share of the processor by itself (Linux' autogroups),
# whatever its priority.
_APART: dict[str, Any] = {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}


class ModelProcess(AnsweringProcess):
    """One model process, as the front sees it; all calls but `kill` wait for it."""

    def __init__(self, model: Path, runtime: str, most: int):
        command = ("-m", "seq2set.server.model_process", str(model), runtime, str(most))
        super().__init__(command, KEPT_HEAP | os.environ, **_APART)

    def read_description(self) -> dict[str, Any]:
        """Wait until the model is open, and return what it is."""
        head = self._read().head
        if "error" in head:
            raise (InputError if head["code"] == InputError.exit_code else WorkError)(head["error"])
        return head

    def answer(self, batch: TextBatch) -> list[bytes]:
        """Return each text's answer as JSON."""
        try:
            batch.write(self.input)
        except OSError as error:
            raise self._make_ended_error() from error
        return read_answers(self._read())

    def _read(self) -> Message:
        try:
            return read_message(self.output)
        except EOFError:
            raise self._make_ended_error() from None

    def _make_ended_error(self) -> EndedProcessError:
        return EndedProcessError("the model process ended before it had answered; try again")


class ModelPool:
    """Some model processes; opening them waits for the model, leaving the block kills them.

    They are made for passes of up to `most` texts.
    """

    def __init__(self, model: Path, size: int, runtime: str = "auto", most: int = 1):
        self._model, self.size, self._runtime, self._most = model, size, runtime, most
        self._ready: set[ModelProcess] = set()
        self._threads = ThreadPoolExecutor(2 * size, thread_name_prefix="seq2set-model")
        self._closed = False
        # The one that was busy last is taken first: it has the memory for a pass already.
        self._idle: asyncio.LifoQueue[ModelProcess]
        self._replacements: set[asyncio.Task[None]] = set()

    def __enter__(self) -> ModelPool:
        self._started = [ModelProcess(self._model, self._runtime, self._most) for _ in range(self.size)]
        try:
            self.description, *_ = [one.read_description() for one in self._started]
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    @property
    def alive(self) -> int:
        """How many processes can answer."""
        return len(self._ready)

    @property
    def idle(self) -> int:
        """How many processes wait for a batch."""
        return self._idle.qsize()

    @property
    def pids(self) -> list[int]:
        """The processes that can answer."""
        return [process.pid for process in self._ready]

    def start(self, metrics: ServerMetrics) -> None:
        """Begin to answer inside the event loop that runs."""
        self._metrics, self._loop = metrics, asyncio.get_running_loop()
        self._idle = asyncio.LifoQueue()
        for process in self._started:
            self._add(process)

    async def take(self) -> ModelProcess:
        """Wait for a process that is idle."""
        while (process := await self._idle.get()) not in self._ready:
            pass
        return process

    def give_back(self, process: ModelProcess) -> None:
        """Make a process idle."""
        if process in self._ready:
            self._idle.put_nowait(process)

    async def answer(self, process: ModelProcess, batch: TextBatch) -> list[bytes]:
        """Answer texts with a process that was taken, and give it back."""
        try:
            return await self._loop.run_in_executor(self._threads, process.answer, batch)
        except EndedProcessError:
            self._note_end(process)
            raise
        finally:
            self.give_back(process)

    def kill(self) -> None:
        """End all processes now, without waiting for their end, which takes long on a busy machine."""
        self._closed = True
        for process in self._started:
            process.kill()

    def _close(self) -> None:
        self.kill()
        for process in self._started:
            process.close()
        self._threads.shutdown(wait=False)

    def _add(self, process: ModelProcess) -> None:
        self._ready.add(process)
        self._metrics.processes.set(self.alive)
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()
        self._idle.put_nowait(process)

    def _watch(self, process: ModelProcess) -> None:
        process.wait()
        with contextlib.suppress(RuntimeError):  # the loop has ended before it
            self._loop.call_soon_threadsafe(self._note_end, process)

    def _note_end(self, process: ModelProcess) -> None:
        """Replace a process that ended, once."""
        if self._closed or process not in self._ready:
            return
        self._ready.discard(process)
        self._metrics.processes.set(self.alive)
        self._metrics.restarts.inc()
        process.kill()  # where it has not ended altogether
        _log.warning("model process %d ended with code %d; it is replaced", process.pid, process.wait())
        self._started.remove(process)
        process.close()
        task = asyncio.create_task(self._replace())
        self._replacements.add(task)
        task.add_done_callback(self._replacements.discard)

    def _check(self, process: ModelProcess) -> None:
        if process.read_description() != self.description:
            raise InputError(f"{self._model} holds another model than before; restart the server to serve it")

    async def _replace(self) -> None:
        pause = 0.5
        while not self._closed:
            process = ModelProcess(self._model, self._runtime, self._most)
            self._started.append(process)
            try:
                await self._loop.run_in_executor(self._threads, self._check, process)
            except (InputError, WorkError) as error:
                _log.warning("the model process could not be replaced: %s", error)
                self._started.remove(process)
                process.close()
                pause = min(2 * pause, LONGEST_PAUSE)
                await asyncio.sleep(pause)
            else:
                self._add(process)
                return
