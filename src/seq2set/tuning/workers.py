"""The trials of a study, done here one after the other or shared by worker processes.

No worker outlives the process that started it for long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from seq2set.config import load_config
from seq2set.core.cluster import Workplace
from seq2set.core.errors import Seq2SetError, StoppedError, WorkError
from seq2set.core.files import hold_lock
from seq2set.core.hardware import count_cores
from seq2set.core.processes import EndedWorker, WorkerPool, stop_with_pipe
from seq2set.tuning.space import read_space
from seq2set.tuning.study import DATABASE_SECONDS, StudyFolder, open_study
from seq2set.tuning.trials import StudyContext, draw_trial, resume_trial, run_trial

REPORT_SECONDS = 0.5
ORPHAN_SECONDS = 30
"""How long to wait for the workers of a process that was killed; they stop after their next update."""

Report = Callable[[], None]
"""Called now and then, since trials may have ended."""


class TrialPlan(NamedTuple):
    """How many trials a study is to have, and those to resume first."""

    trials: int
    stopped: list[int]


def run_trials(context: StudyContext, plan: TrialPlan, report: Report) -> None:
    """Do trials in this process until the study has enough."""
    for number in plan.stopped:
        run_trial(context, resume_trial(context, number))
        report()
    while drawn := draw_trial(context, plan.trials):
        run_trial(context, drawn)
        report()


def run_workers(
    folder: StudyFolder, plan: TrialPlan, jobs: int, report: Report, place: Workplace | None = None
) -> None:
    """Do trials in `jobs` processes at a time; each resumes its share of those that were stopped."""
    pool: WorkerPool[int] = (place or Workplace()).open_pool(jobs)
    threads = max(1, count_cores() // jobs) if pool.pinned else 1
    with pool:
        for number in range(jobs):
            numbers = (plan.trials, threads, *plan.stopped[number::jobs])
            command = ["-m", "seq2set.tuning.workers", str(folder.path), *map(str, numbers)]
            pool.start(number, command, log=folder.worker_log(number))
        while pool.jobs:
            ended = pool.wait(REPORT_SECONDS)
            report()
            for worker in ended:
                _refuse_failure(folder, worker)


def _refuse_failure(folder: StudyFolder, worker: EndedWorker[int]) -> None:
    if not worker.code:
        return
    log = folder.worker_log(worker.job)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = lines[-1] if lines else f"exit code {worker.code}"
    raise WorkError(
        f"a worker process ended with: {last} (its output is in {log}); rerun with --resume to continue"
    )


def await_workers(folder: StudyFolder) -> None:
    """Wait for workers that a killed process left behind, so that no trial is worked on twice."""
    busy = f"{folder.path} still has worker processes of a study that was stopped; wait until they end"
    with hold_lock(folder.lock("workers"), busy=busy, seconds=ORPHAN_SECONDS):
        pass


def main(arguments: list[str], pipe: int) -> int:
    """Run trials of a study until none are left.

    The arguments are the study's folder, a number of trials, the threads to use, and trials to resume.
    """
    path, trials, threads, *stopped = arguments
    plan = TrialPlan(int(trials), list(map(int, stopped)))
    try:
        with stop_with_pipe(pipe):
            _join_study(StudyFolder(Path(path)), plan, int(threads))
    except (KeyboardInterrupt, StoppedError):
        return 0
    except Seq2SetError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _join_study(folder: StudyFolder, plan: TrialPlan, threads: int) -> None:
    config = load_config(folder.config)
    space = read_space(folder.space, config)
    if config.threads == "auto":
        config = config.model_copy(update={"threads": threads})
    busy = f"the study {folder.path} is being started by another process"
    lock = hold_lock(folder.lock("workers"), busy=busy, seconds=DATABASE_SECONDS, shared=True)
    with lock, open_study(folder) as study:
        run_trials(StudyContext(folder, study, config, space), plan, lambda: None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.fileno()))
