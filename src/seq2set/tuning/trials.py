"""One trial: a training in a run folder of its own, with settings drawn from the search space."""

from __future__ import annotations

import shutil
import time
from functools import partial
from typing import Any, NamedTuple

import optuna
from optuna.trial import TrialState

from seq2set.config import Config, load_config
from seq2set.config.run_folder import RunFolder, Watch
from seq2set.core.errors import StoppedError, WorkError
from seq2set.core.files import hold_lock
from seq2set.inference.model_folder import read_metadata
from seq2set.tuning.space import Space, apply_settings
from seq2set.tuning.study import (
    DATABASE_SECONDS,
    StudyFolder,
    build_sampler,
    find_direction,
    refuse_other_trials,
)
from seq2set.workflows.train import train
from seq2set.workflows.training_corpus import open_training_corpus


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
        if number >= trials:
            return None
        return _draw_settings(context, context.study.ask())


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
    context.study.tell(trial, **outcome)
    # Checkpoints of a finished trial have no use, and those of a whole study fill a disk.
    shutil.rmtree(run.checkpoints, ignore_errors=True)


def _draw_settings(context: StudyContext, trial: optuna.Trial) -> DrawnTrial:
    values = {}
    for place, parameter in enumerate(context.space.parameters):
        context.study.sampler = build_sampler(context.config.seed, trial.number, place)
        values[parameter.name] = parameter.draw(trial)
    return DrawnTrial(trial, apply_settings(context.config, values))


def _train(run: RunFolder, drawn: DrawnTrial, watch: Watch) -> None:
    """Start or resume a run; one that was started keeps its settings, also its share of the cores."""
    begun = run.config.is_file()
    if run.path.is_dir() and not begun:
        shutil.rmtree(run.path)  # killed before there was anything to resume
    config = load_config(run.config) if begun else drawn.config
    train(config, run.path, resume=True, watch=watch)


def _report(trial: optuna.Trial, metric: str, step: int, record: dict[str, Any]) -> None:
    """Report a validation score to the study, and end a trial that does worse than half of the others."""
    reported = trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values
    if step not in reported:
        trial.report(_read_score(record, metric), step)
    if trial.should_prune():
        raise optuna.TrialPruned


def _read_score(record: dict[str, Any], metric: str) -> float:
    """Return the metric of a validation record; networks record micro-F1 only, which then stands for it."""
    if metric in record:
        return float(record[metric])
    return float(record["micro_f1"]) * (1 if find_direction(metric) == "maximize" else -1)
