"""Trials one after the other: in this process, or as the work of a process that was started for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from seq2set.config import load_config
from seq2set.errors import Seq2SetError, StoppedError
from seq2set.locking import held
from seq2set.tuning.space import read_space
from seq2set.tuning.study import DATABASE_SECONDS, StudyFolder, open_study
from seq2set.tuning.trial import Bench, next_trial, run_trial, stopped_trial
from seq2set.workers import stopping_with

Tell = Callable[[], None]
"""Is called now and then, for trials may have come to an end."""


class Plan(NamedTuple):
    """How many trials a study is to have, and those to take up first."""

    trials: int
    stopped: list[int]


def work(bench: Bench, plan: Plan, tell: Tell) -> None:
    """Do trials until there are enough."""
    for number in plan.stopped:
        run_trial(bench, stopped_trial(bench, number))
        tell()
    while drawn := next_trial(bench, plan.trials):
        run_trial(bench, drawn)
        tell()


def main(arguments: list[str], pipe: int) -> int:
    """Be a worker: of a folder, a number of trials, the threads to use, and trials to take up."""
    path, trials, threads, *stopped = arguments
    plan = Plan(int(trials), list(map(int, stopped)))
    try:
        with stopping_with(pipe):
            _work_along(StudyFolder(Path(path)), plan, int(threads))
    except (KeyboardInterrupt, StoppedError):
        return 0
    except Seq2SetError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _work_along(folder: StudyFolder, plan: Plan, threads: int) -> None:
    config = load_config(folder.config)
    space = read_space(folder.space, config)
    if config.threads == "auto":
        config = config.model_copy(update={"threads": threads})
    busy = f"the study {folder.path} is being begun by another process"
    lock = held(folder.lock("workers"), busy=busy, seconds=DATABASE_SECONDS, shared=True)
    with lock, open_study(folder) as study:
        work(Bench(folder, study, config, space), plan, lambda: None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.fileno()))
