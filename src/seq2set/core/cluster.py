"""A Ray cluster, one that runs already or one of this machine for as long as a command takes, with workers.

Nothing is reported to the makers of Ray. A cluster of our own listens on the loopback interface only, and
asks for a token that nobody else knows.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2set.core.errors import InputError, WorkError, import_extra
from seq2set.core.hardware import CORES, count_cores
from seq2set.core.names import find_named
from seq2set.core.processes import EndedWorker, Job, WorkerPool

CONNECT_SECONDS = 10.0
"""How long a cluster may take to accept a connection."""

SIGN_SECONDS = 0.5
"""Seconds between looks of a task at the sign that stops it."""

_DEFAULTS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "1",  # each attempt to reach a cluster takes 40 seconds
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # what it will be, without a warning about it
}

_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Whatever its name says: with it Ray listens on the loopback interface only, on every system."""


@contextmanager
def open_cluster(address: str | None, cpus: int) -> Iterator[Any]:
    """Give the package `ray`, connected to a cluster; without an address one of this many CPUs is started."""
    for name, value in (_DEFAULTS | (_LOOPBACK if address is None else {})).items():
        os.environ.setdefault(name, value)
    ray = import_extra("ray", "ray")
    if ray.is_initialized():  # by whoever calls this from Python
        yield ray
        return
    _connect(ray, address, cpus)
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str | None, cpus: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        ray.init("local", num_cpus=cpus, include_dashboard=False, **quiet)
        return
    _knock(address)
    try:
        ray.init(address, **quiet)
    except Exception as error:  # Ray raises many kinds of them
        reason = str(error).strip().partition("\n")[0]
        raise WorkError(f"the Ray cluster at {address} does not answer: {reason}") from error


def _knock(address: str) -> None:
    """Refuse an address at which nobody listens, which Ray would try for minutes."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if address == "auto":
        return
    if not colon or not port.isdigit():
        raise InputError(f"address is '{address}'; it must be HOST:PORT, such as 10.0.0.5:6379, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise WorkError(
            f"the Ray cluster at {address} does not answer within {CONNECT_SECONDS:.0f} s ({error}); is it "
            "started, by `ray start --head`?"
        ) from error


class ClusterPool(WorkerPool[Job]):
    """Worker processes on the nodes of a cluster, with one core each; all nodes see the same files."""

    pinned = False

    def __init__(self, size: int, address: str | None = None):
        super().__init__(size)
        self._address, self._stack = address, ExitStack()
        self._tasks: dict[int, tuple[Job, Any]] = {}

    def __enter__(self) -> ClusterPool[Job]:
        self._ray = self._stack.enter_context(open_cluster(self._address, max(self.size, count_cores())))
        self._sign = self._ray.remote(num_cpus=0)(StopSign).remote()
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            if references := [reference for _, reference in self._tasks.values()]:
                # No cancelling: an interruption can get lost, or meet a process that is just saving.
                self._ray.get(self._sign.put_up.remote())
                self._ray.wait(references, num_returns=len(references))
            self._ray.kill(self._sign)

    @property
    def jobs(self) -> list[Job]:
        """The jobs that are being worked on."""
        return [job for job, _ in self._tasks.values()]

    @property
    def free_slot(self) -> int | None:
        """The number of the first slot without a task, or None where all are busy."""
        return min(set(range(self.size)) - self._tasks.keys(), default=None)

    def start(
        self, job: Job, arguments: Sequence[str], *, message: str | None = None, log: Path | None = None
    ) -> None:
        """Start Python with these arguments on a node; where the node is lost, on another."""
        slot = self.free_slot
        assert slot is not None
        task = self._ray.remote(num_cpus=1)(run_process)
        target, folder = log and str(log), str(Path.cwd())
        self._tasks[slot] = job, task.remote(list(arguments), message, target, folder, self._sign)

    def wait(self, seconds: float = float("inf")) -> list[EndedWorker[Job]]:
        """Wait until a process ends, or the time is over, and return those that have."""
        references = {reference: slot for slot, (_, reference) in self._tasks.items()}
        limit = None if seconds == float("inf") else seconds
        ready, _ = self._ray.wait(list(references), num_returns=1, timeout=limit)
        return [self._collect(references[reference]) for reference in ready]

    def _collect(self, slot: int) -> EndedWorker[Job]:
        job, reference = self._tasks.pop(slot)
        try:
            output, code = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            reason = str(error).strip().rpartition("\n")[2]
            raise WorkError(f"a task of the Ray cluster failed: {reason}") from error
        return EndedWorker(job, output, code)


class StopSign:
    """An actor by which tasks learn that they are to stop."""

    def __init__(self) -> None:
        self.up = False

    def put_up(self) -> None:
        """Stop all tasks."""
        self.up = True

    def is_up(self) -> bool:
        """Say whether to stop."""
        return self.up


def run_process(
    arguments: list[str], message: str | None, log: str | None, folder: str, sign: Any
) -> tuple[str, int]:
    """Run Python in a folder and return what it printed and its exit code: the task of a worker."""
    import ray

    os.chdir(folder)
    os.environ[CORES] = "1"  # what the task has asked for
    with WorkerPool[None](1) as pool:
        pool.start(None, arguments, message=message, log=None if log is None else Path(log))
        while not (ended := pool.wait(SIGN_SECONDS)):
            if ray.get(sign.is_up.remote()):
                return "", 1  # leaving the block closes the pipe, and waits until all is saved
    return ended[0].output, ended[0].code


@dataclass(frozen=True)
class Workplace:
    """Where worker processes run: on this machine, or on the nodes of a cluster."""

    engine: str = "local"
    address: str | None = None

    def __post_init__(self) -> None:
        find_named("engine", self.engine, {"local": WorkerPool, "ray": ClusterPool})

    @property
    def is_here(self) -> bool:
        """Whether it is this machine."""
        return self.engine == "local"

    def open_pool(self, size: int) -> WorkerPool[Any]:
        """Return a pool of worker processes."""
        return WorkerPool(size) if self.is_here else ClusterPool(size, self.address)
