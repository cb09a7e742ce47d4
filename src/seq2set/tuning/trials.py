"""One trial: a training in a run folder of its own, with values drawn from the search space.

Trials one after the other: in this process, or as the work of a process that was started for it.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from optuna.trial import TrialState

from seq2set.config import Config, load_config
from seq2set.config.run_folder import RunFolder, Watch
from seq2set.core.errors import Seq2SetError, StoppedError, WorkError
from seq2set.core.files import hold_lock
from seq2set.core.processes import stop_with_pipe
from seq2set.inference.model_folder import read_metadata
from seq2set.tuning.space import Space, read_space, with_settings
from seq2set.tuning.study import (
    DATABASE_SECONDS,
    StudyFolder,
    direction,
    open_study,
    refuse_other_trials,
    sampler,
)
from seq2set.workflows.open_data import corpus_of
from seq2set.workflows.train import train


class Drawn(NamedTuple):
    """A trial, and the settings that were drawn for it."""

    trial: optuna.Trial
    config: Config


class Bench(NamedTuple):
    """What a process needs to work on a study."""

    folder: StudyFolder
    study: optuna.Study
    config: Config
    space: Space


def next_trial(bench: Bench, trials: int) -> Drawn | None:
    """Draw the next trial, unless the study has `trials` of them already."""
    busy = f"the study {bench.folder.path} was locked by another process for {DATABASE_SECONDS} s"
    with hold_lock(bench.folder.lock("next"), busy=busy, seconds=DATABASE_SECONDS):
        number = len(bench.study.get_trials(deepcopy=False))
        if number >= trials:
            return None
        return _drawn(bench, bench.study.ask())


def stopped_trial(bench: Bench, number: int) -> Drawn:
    """Take up a trial that was running when the study was stopped, with the values that it has."""
    frozen = bench.study.get_trials(deepcopy=False)[number]
    return _drawn(bench, optuna.Trial(bench.study, frozen._trial_id))


def run_trial(bench: Bench, drawn: Drawn) -> None:
    """Train to the end, to the stop of a trial that is not worth it, or to a failure; and tell the study."""
    run, trial, metric = bench.folder.run(drawn.trial.number), drawn.trial, bench.config.decision.metric
    began = time.perf_counter()
    refuse_other_trials(bench.folder, corpus_of(bench.config.data))
    try:
        _train(run, drawn, partial(_report, trial, metric))
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
    bench.study.tell(trial, **outcome)
    # Checkpoints of a trial that is done are for nothing, and those of a whole study fill a disk.
    shutil.rmtree(run.checkpoints, ignore_errors=True)


def _drawn(bench: Bench, trial: optuna.Trial) -> Drawn:
    values = {}
    for place, one in enumerate(bench.space.parameters):
        bench.study.sampler = sampler(bench.config.seed, trial.number, place)
        values[one.name] = one.draw(trial)
    return Drawn(trial, with_settings(bench.config, values))


def _train(run: RunFolder, drawn: Drawn, watch: Watch) -> None:
    """Begin or go on; a run that was begun keeps its settings, whatever share of the cores it has now."""
    begun = run.config.is_file()
    if run.path.is_dir() and not begun:
        shutil.rmtree(run.path)  # killed before there was anything to go on from
    config = load_config(run.config) if begun else drawn.config
    train(config, run.path, resume=True, watch=watch)


def _report(trial: optuna.Trial, metric: str, look: int, record: dict[str, Any]) -> None:
    """Tell the study of a look at validation, and end a trial that does worse than half of the others."""
    reported = trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values
    if look not in reported:
        trial.report(_score(record, metric), look)
    if trial.should_prune():
        raise optuna.TrialPruned


def _score(record: dict[str, Any], metric: str) -> float:
    """Return a look's value of the metric; networks look at micro-F1 only, which then stands for it."""
    if metric in record:
        return float(record[metric])
    return float(record["micro_f1"]) * (1 if direction(metric) == "maximize" else -1)


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
        with stop_with_pipe(pipe):
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
    lock = hold_lock(folder.lock("workers"), busy=busy, seconds=DATABASE_SECONDS, shared=True)
    with lock, open_study(folder) as study:
        work(Bench(folder, study, config, space), plan, lambda: None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.fileno()))
