"""The trials of a study: trainings in run folders of their own, with settings drawn from the search space.

They are done here one after the other, or shared by worker processes, none of which outlives the process that
started it for long.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from optuna.trial import TrialState

from seq2set.config import Config, load_config
from seq2set.core.cluster import Workplace
from seq2set.core.errors import Seq2SetError, StoppedError, WorkError
from seq2set.core.files import hold_lock
from seq2set.core.hardware import count_cores
from seq2set.core.processes import EndedWorker, WorkerPool, stop_with_pipe
from seq2set.inference.model_folder import read_metadata
from seq2set.tuning.space import Space, apply_settings, read_space
from seq2set.tuning.study import (
    DATABASE_SECONDS,
    StudyFolder,
    build_sampler,
    find_direction,
    open_study,
    refuse_other_trials,
)
from seq2set.workflows.train import train
from seq2set.workflows.training_corpus import open_training_corpus

REPORT_SECONDS = 0.5
ORPHAN_SECONDS = 30
"""How long to wait for the workers of a process that was killed; they stop after their next update."""


class DrawnTrial(NamedTuple):
    """A trial, and the settings that were drawn for it."""

    trial: optuna.Trial
    config: Config


class StudyContext(NamedTuple):
    """What a process needs to work on a study."""

    folder: StudyFolder
    study: optuna.Study
    config: Config
    space: Space


def draw_trial(context: StudyContext, trials: int) -> DrawnTrial | None:
    """Draw the next trial, unless the study has `trials` of them already."""
    busy = f"the study {context.folder.path} was locked by another process for {DATABASE_SECONDS} s"
    with hold_lock(context.folder.lock("next"), busy=busy, seconds=DATABASE_SECONDS):
        number = len(context.study.get_trials(deepcopy=False))
        return _draw_settings(context, context.study.ask()) if number < trials else None


def resume_trial(context: StudyContext, number: int) -> DrawnTrial:
    """Continue a trial that was running when the study was stopped, with the settings that it has.

    Optuna has no public way to it. A new trial with the same settings would have another number and folder,
    and the study would not end as if it had never been stopped.
    """
    frozen = context.study.get_trials(deepcopy=False)[number]
    return _draw_settings(context, optuna.Trial(context.study, frozen._trial_id))


def run_trial(context: StudyContext, drawn: DrawnTrial) -> None:
    """Train until the trial is complete, pruned or failed, and record that in the study."""
    run, trial, metric = context.folder.run(drawn.trial.number), drawn.trial, context.config.decision.metric
    began = time.perf_counter()
    refuse_other_trials(context.folder, open_training_corpus(context.config.data))
    begun = run.config.is_file()  # then it keeps its settings, also its share of the cores
    try:
        if run.path.is_dir() and not begun:
            shutil.rmtree(run.path)  # killed before there was anything to resume
        config = load_config(run.config) if begun else drawn.config
        train(config, run.path, resume=True, watch=partial(_report, trial, metric))
    except optuna.TrialPruned:
        outcome: dict[str, Any] = {"state": TrialState.PRUNED}
    except StoppedError:
        raise
    except WorkError as error:
        trial.set_user_attr("error", str(error))
        outcome = {"state": TrialState.FAIL}
    else:
        outcome = {"values": read_metadata(run.path)["validation"][metric]}
    trial.set_user_attr("seconds", round(time.perf_counter() - began, 1))
    context.study.tell(trial, **outcome)
    # Checkpoints of a finished trial have no use, and those of a whole study fill a disk.
    shutil.rmtree(run.checkpoints, ignore_errors=True)


def _draw_settings(context: StudyContext, trial: optuna.Trial) -> DrawnTrial:
    values = {}
    for place, parameter in enumerate(context.space.parameters):
        context.study.sampler = build_sampler(context.config.seed, trial.number, place)
        values[parameter.name] = parameter.draw(trial)
    return DrawnTrial(trial, apply_settings(context.config, values))


def _report(trial: optuna.Trial, metric: str, step: int, record: dict[str, Any]) -> None:
    """Report a validation score to the study, and end a trial that does worse than half of the others."""
    reported = trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values
    if step not in reported:
        if metric in record:
            score = float(record[metric])
        else:  # networks record micro-F1 only, which then stands for it
            score = float(record["micro_f1"]) * (1 if find_direction(metric) == "maximize" else -1)
        trial.report(score, step)
    if trial.should_prune():
        raise optuna.TrialPruned


Report = Callable[[], None]
"""Called now and then, since trials may have ended."""


def run_trials(context: StudyContext, trials: int, stopped: Sequence[int], report: Report) -> None:
    """Do trials in this process until the study has enough, first those that were stopped."""
    for number in stopped:
        run_trial(context, resume_trial(context, number))
        report()
    while drawn := draw_trial(context, trials):
        run_trial(context, drawn)
        report()


def run_workers(
    folder: StudyFolder,
    trials: int,
    stopped: Sequence[int],
    jobs: int,
    report: Report,
    place: Workplace | None = None,
) -> None:
    """Do trials in `jobs` processes at a time; each resumes its share of those that were stopped."""
    pool: WorkerPool[int] = (place or Workplace()).open_pool(jobs)
    threads = max(1, count_cores() // jobs) if pool.pinned else 1
    with pool:
        for number in range(jobs):
            numbers = (trials, threads, *stopped[number::jobs])
            command = ["-m", "seq2set.tuning.trials", str(folder.path), *map(str, numbers)]
            pool.start(number, command, log=folder.name_worker_log(number))
        while pool.jobs:
            ended = pool.wait(REPORT_SECONDS)
            report()
            for worker in ended:
                _refuse_failure(folder, worker)


def _refuse_failure(folder: StudyFolder, worker: EndedWorker[int]) -> None:
    if not worker.code:
        return
    log = folder.name_worker_log(worker.job)
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
    try:
        with stop_with_pipe(pipe):
            folder = StudyFolder(Path(path))
            config = load_config(folder.config)
            space = read_space(folder.space, config)
            if config.threads == "auto":
                config = config.model_copy(update={"threads": int(threads)})
            busy = f"the study {folder.path} is being started by another process"
            lock = hold_lock(folder.lock("workers"), busy=busy, seconds=DATABASE_SECONDS, shared=True)
            with lock, open_study(folder) as study:
                context = StudyContext(folder, study, config, space)
                run_trials(context, int(trials), list(map(int, stopped)), lambda: None)
    except (KeyboardInterrupt, StoppedError):
        return 0
    except Seq2SetError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.fileno()))
