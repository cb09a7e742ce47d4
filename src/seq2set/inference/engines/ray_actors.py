"""The Ray engine: the model on actors of a cluster, one thread each; this process reads and writes.

It is made of plain actors, not of Ray's datasets: those keep neither the order nor steady names of files by
default, and their readers wait for CPUs that actors hold. Here blocks are cut as on one machine, reading
needs no CPU of the cluster, and the nodes need seq2set but no common file system: the model travels to them.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import seq2set
from seq2set.core.cluster import open_cluster
from seq2set.core.errors import WorkError
from seq2set.core.hardware import count_cores, limit_threads
from seq2set.core.processes import ONE_THREAD
from seq2set.inference.engines.blocks import BlockResult, EngineSettings, Texts, from_plain, request_to_plain
from seq2set.inference.engines.worker import describe_error, raise_error
from seq2set.inference.model_folder import find_model_folder, verify

START_SECONDS = 300.0
"""How long the first actor may take to start, on a busy machine."""
CPUS = 1
"""What an actor asks the cluster for."""
ATTEMPTS = 3
"""How often a block is given to an actor, where actors die of it."""
IN_FLIGHT = 2
"""Blocks that an actor has at a time: the next one is there when it has finished one."""
AHEAD = 4
"""Blocks per actor that are computed ahead of what is taken."""


class BlockActor:
    """A model on a node of the cluster."""

    def __init__(self, holder: dict[str, Any], request: dict[str, Any], runtime: str = "auto"):
        os.environ.update(ONE_THREAD)
        limit_threads()
        from seq2set.inference.predictor import Predictor
        from seq2set.models.predictions import Request

        self.state: dict[str, Any] = {"version": seq2set.__version__}
        try:
            with tempfile.TemporaryDirectory(prefix="seq2set-") as folder:
                for name, content in _read_files(holder["files"]).items():
                    (Path(folder) / name).write_bytes(content)
                self.predictor, self.request = Predictor.open(Path(folder), runtime), Request(**request)
        except Exception as error:
            self.state |= describe_error(error)

    def describe(self) -> dict[str, Any]:
        """Return the version of the node's package, and why the model could not be opened."""
        return self.state

    def predict(self, texts: Texts) -> dict[str, Any]:
        """Compute a block."""
        from seq2set.inference.engines.blocks import predict_block, to_plain

        try:
            return to_plain(predict_block(self.predictor, texts, self.request))
        except Exception as error:
            return describe_error(error)


def _read_files(files: Any) -> dict[str, bytes]:
    """Return the model's files by name, or read them from the cluster's store."""
    if isinstance(files, dict):
        return files
    import ray

    found: dict[str, bytes] = ray.get(files)
    return found


class _Task(NamedTuple):
    number: int
    texts: Texts
    attempt: int = 1


class _Work:
    """Blocks on their way: those to do again, those that actors have, and answers not yet taken."""

    def __init__(self, blocks: Iterable[Texts]):
        self.source = (_Task(number, texts) for number, texts in enumerate(blocks))
        self.again: deque[_Task] = deque()
        self.busy: dict[Any, tuple[int, _Task]] = {}
        self.done: dict[int, dict[str, Any]] = {}
        self.taken, self.ended = 0, False

    @property
    def open(self) -> bool:
        """Whether anything is left to compute."""
        return bool(self.again or self.busy or not self.ended)

    def next_task(self, most: int) -> _Task | None:
        """Return the next block, unless enough are on their way already."""
        if self.again:
            return self.again.popleft()
        if self.ended or len(self.busy) + len(self.done) >= most:
            return None
        task = next(self.source, None)
        self.ended = task is None
        return task

    def take(self) -> Iterator[BlockResult]:
        """Give the answers whose turn it is."""
        while self.taken in self.done:
            answer = self.done.pop(self.taken)
            self.taken += 1
            raise_error(answer)
            yield from_plain(answer)


class RayEngine:
    """Actors of a cluster; leaving the context ends them, and the cluster where it was started here."""

    def __init__(self, settings: EngineSettings):
        self.settings = settings
        self._stack = ExitStack()

    def __enter__(self) -> RayEngine:
        folder = find_model_folder(self.settings.model)
        verify(folder)
        wanted = self.settings.workers
        with ExitStack() as stack:
            self.ray = stack.enter_context(open_cluster(self.settings.address, wanted or count_cores()))
            size = wanted or int(self.ray.cluster_resources().get("CPU", 1))
            # Kept for as long as the engine: the actors read it themselves, also those that start anew.
            self._files = self.ray.put({path.name: path.read_bytes() for path in folder.iterdir()})
            make = self.ray.remote(num_cpus=CPUS, max_restarts=-1)(BlockActor).remote
            asked = request_to_plain(self.settings.request), self.settings.runtime
            self.actors = [make({"files": self._files}, *asked) for _ in range(size)]
            stack.callback(self._kill)
            self._starting = {self._ask_for_state(number): number for number in range(size)}
            self._idle: deque[int] = deque()
            self._started = False
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _kill(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)

    def _ask_for_state(self, number: int) -> Any:
        # Asked again while the actor starts anew, so that the answer comes when it can work.
        return self.actors[number].describe.options(max_task_retries=-1).remote()

    def map(self, blocks: Iterable[Texts]) -> Iterator[BlockResult]:
        """Compute blocks on whatever actors there are."""
        work = _Work(blocks)
        while work.open:
            self._hand_out(work)
            for reference in self._wait(work):
                self._collect(reference, work)
            yield from work.take()

    def _hand_out(self, work: _Work) -> None:
        most = AHEAD * len(self.actors)
        while self._idle and (task := work.next_task(most)) is not None:
            number = self._idle.popleft()
            work.busy[self.actors[number].predict.remote(task.texts)] = number, task

    def _wait(self, work: _Work) -> list[Any]:
        """Wait until an actor has started or answered, and return what was answered."""
        pending = [*work.busy, *self._starting]
        if not work.busy and not work.open:
            return []
        ready, _ = self.ray.wait(pending, num_returns=1, timeout=None if self._started else START_SECONDS)
        if not ready:
            free, cpus = self.ray.available_resources().get("CPU", 0), self.ray.cluster_resources()["CPU"]
            raise WorkError(
                f"no actor has started within {START_SECONDS:.0f} s; {free:.0f} of the cluster's {cpus:.0f} "
                "CPUs are free"
            )
        for reference in ready:
            if reference in self._starting:
                self._welcome(self._starting.pop(reference), self._read_state(reference))
        return [reference for reference in ready if reference in work.busy]

    def _read_state(self, reference: Any) -> dict[str, Any]:
        try:
            state: dict[str, Any] = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            reason = str(error).strip().rpartition("\n")[2]
            raise WorkError(
                f"an actor cannot start; is seq2set installed on all nodes? ({reason})"
            ) from error
        return state

    def _welcome(self, number: int, state: dict[str, Any]) -> None:
        raise_error(state)
        if state["version"] != seq2set.__version__:
            raise WorkError(
                f"a node of the cluster has seq2set {state['version']}, this one {seq2set.__version__}; "
                "install the same version on all"
            )
        self._started = True
        self._idle.extend([number] * IN_FLIGHT)

    def _collect(self, reference: Any, work: _Work) -> None:
        """Keep an answer; where the actor has died, wait for its return and give the block to another."""
        number, task = work.busy.pop(reference)
        try:
            work.done[task.number] = self.ray.get(reference)
        except self.ray.exceptions.RayActorError as error:
            if task.attempt == ATTEMPTS:
                raise WorkError(
                    f"an actor died, {ATTEMPTS} times on the same {len(task.texts)} texts; is there enough "
                    "memory?"
                ) from error
            work.again.append(task._replace(attempt=task.attempt + 1))
            if number not in self._starting.values():
                self._idle = deque(one for one in self._idle if one != number)
                self._starting[self._ask_for_state(number)] = number
        else:
            if number not in self._starting.values():
                self._idle.append(number)
