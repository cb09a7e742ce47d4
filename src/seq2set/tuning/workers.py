"""Worker processes that share the trials of a study; none outlives the process that started it for long."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from seq2set.core.errors import WorkError
from seq2set.core.files import hold_lock
from seq2set.core.hardware import count_cores
from seq2set.core.processes import build_worker_environment
from seq2set.tuning.study import StudyFolder
from seq2set.tuning.trials import Plan, Tell

POLL_SECONDS = 0.5
ORPHAN_SECONDS = 30
"""How long to wait for the workers of a process that was killed; they stop after their next update."""


def run_workers(folder: StudyFolder, plan: Plan, jobs: int, tell: Tell) -> None:
    """Do trials in `jobs` processes at a time; each takes up its share of those that were stopped."""
    threads = max(1, count_cores() // jobs)
    workers: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack:
        stack.callback(_stop, workers)
        for number in range(jobs):
            log = stack.enter_context(_log(folder, number).open("wb"))
            workers.append(_started(folder, plan._replace(stopped=plan.stopped[number::jobs]), threads, log))
        while any(worker.poll() is None for worker in workers):
            _refuse_failures(folder, workers)
            time.sleep(POLL_SECONDS)
            tell()
    _refuse_failures(folder, workers)


def await_workers(folder: StudyFolder) -> None:
    """Wait for workers that a killed process left behind, so that no trial is worked on twice."""
    busy = f"{folder.path} still has worker processes of a study that was stopped; wait until they end"
    with hold_lock(folder.lock("workers"), busy=busy, seconds=ORPHAN_SECONDS):
        pass


def _started(folder: StudyFolder, plan: Plan, threads: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    numbers = (plan.trials, threads, *plan.stopped)
    command = [sys.executable, "-m", "seq2set.tuning.trials", str(folder.path), *map(str, numbers)]
    # A session of its own keeps the terminal's Ctrl-C from it, which would come on top of the closed pipe.
    return subprocess.Popen(  # noqa: S603 (this very program)
        command,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        env=build_worker_environment(),
        start_new_session=True,
    )


def _stop(workers: list[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        assert worker.stdin is not None  # a pipe was asked for
        worker.stdin.close()
    for worker in workers:
        worker.wait()


def _refuse_failures(folder: StudyFolder, workers: list[subprocess.Popen[bytes]]) -> None:
    for number, worker in enumerate(workers):
        if worker.returncode:
            log = _log(folder, number)
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            last = said[-1] if said else f"exit code {worker.returncode}"
            raise WorkError(
                f"a worker process ended with: {last} (all it said is in {log}); "
                "the same command with --resume goes on"
            )


def _log(folder: StudyFolder, number: int) -> Path:
    return folder.path / f"worker-{number + 1}.log"
