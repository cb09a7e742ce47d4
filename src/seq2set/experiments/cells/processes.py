"""Several cells at a time, each in a process of its own with its share of the cores."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from types import TracebackType
from typing import NamedTuple

from seq2set.core.errors import InputError, StoppedError
from seq2set.core.processes import build_worker_environment
from seq2set.experiments.cells.cell import Cell

PAUSE = 0.1
"""Seconds between looks at the processes."""


class Ended(NamedTuple):
    """A cell whose process came to its end, and what went wrong, if anything did."""

    cell: Cell
    message: str | None


class Crew:
    """Processes that each do a cell; leaving the block stops those that still run, politely."""

    def __init__(self, size: int):
        self.size = size
        self._running: dict[int, tuple[Cell, subprocess.Popen[bytes]]] = {}

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, process in self._running.values():
            assert process.stdin is not None
            process.stdin.close()  # the sign to save everything and stop
        for _, process in self._running.values():
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    @property
    def busy(self) -> list[str]:
        """The names of the cells that are being done."""
        return [cell.name for cell, _ in self._running.values()]

    @property
    def free(self) -> bool:
        """Whether another process may be started."""
        return len(self._running) < self.size

    def start(self, cell: Cell) -> None:
        """Start a process for a cell."""
        place = min(set(range(self.size)) - self._running.keys())
        command = [sys.executable, "-m", "seq2set.experiments.cells.run", *map(str, _share(place, self.size))]
        process = subprocess.Popen(  # noqa: S603 (this program itself)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # nothing may be left to write when a process has died
            env=build_worker_environment(),
            start_new_session=True,  # Ctrl-C reaches this process only, which passes it on once
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died at once, which `wait` will notice
            process.stdin.write(json.dumps(cell.to_dict()).encode() + b"\n")
        self._running[place] = (cell, process)

    def wait(self) -> list[Ended]:
        """Wait until a process ends, and return those that have."""
        while not (ended := [place for place, (_, one) in self._running.items() if one.poll() is not None]):
            time.sleep(PAUSE)
        return [self._ended(*self._running.pop(place)) for place in ended]

    def _ended(self, cell: Cell, process: subprocess.Popen[bytes]) -> Ended:
        with process:
            assert process.stdout is not None
            return Ended(cell, _message(process.stdout.read().decode(), process.poll()))


def _message(line: str, code: int | None) -> str | None:
    """Say what went wrong in a process; a wrong call or a stop ends all the others as well."""
    if not line.strip():
        return f"its process ended with code {code}"
    said = json.loads(line.splitlines()[-1])
    if said["code"] == InputError.exit_code:
        raise InputError(said["message"])
    if said.get("error") == StoppedError.__name__:
        raise StoppedError(said["message"])
    message: str | None = said.get("message")
    return message


def _share(place: int, size: int) -> list[int]:
    """Return the cores for a place in the crew: an even share, and at least one."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    cores = sorted(os.sched_getaffinity(0))
    return cores[place::size] or [cores[place % len(cores)]]
