"""A whole study as one call: start or resume it, run its trials, and write what was found."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import optuna

from seq2set.config import Config, load_config, write_toml
from seq2set.config.run_folder import RunFolder, recall_defaults
from seq2set.core.cluster import Workplace
from seq2set.core.errors import InputError, StoppedError, WorkError
from seq2set.core.files import hold_lock
from seq2set.core.progress import Advance, Progress, Silent
from seq2set.corpora.prepared import is_prepared
from seq2set.corpora.subset import check_tunable, write_carved_corpus
from seq2set.tuning.plot import draw_study
from seq2set.tuning.study import (
    StudyFolder,
    TrialRow,
    find_best,
    list_stale_trials,
    list_trials,
    open_study,
    start_study,
    write_tables,
)
from seq2set.tuning.trials import StudyContext, await_workers, run_trials, run_workers
from seq2set.workflows.training_corpus import open_training_corpus


class TrialReporter:
    """Reports the trials that ended since it was last called."""

    def __init__(self, study: optuna.Study, metric: str, advance: Advance, progress: Progress):
        self.study, self.metric, self.advance, self.progress = study, metric, advance, progress
        self.seen: set[int] = set()

    def __call__(self, *, quietly: bool = False) -> None:
        """Read the study, and report the trials that are new; quietly those of an earlier call."""
        rows = list_trials(self.study)
        best = find_best(rows, self.metric)
        new = [row for row in rows if row.number not in self.seen]
        self.seen |= {row.number for row in new}
        if new:
            self.advance(len(new), f"best {best.score:.4f} (trial {best.number})" if best else "")
        for row in () if quietly else new:
            self.progress.note(_describe(row, self.metric))


def _describe(row: TrialRow, metric: str) -> str:
    if row.state == "complete":
        return f"trial {row.number}: {metric} {row.value:.4f} after {row.seconds:.0f} s"
    if row.state == "pruned":
        return f"trial {row.number}: pruned after {row.looks} validations, worse than half of the others"
    return f"trial {row.number}: failed, {row.error}"


class StudyResult(NamedTuple):
    """The trials of a study, the best of them, and the folder."""

    folder: StudyFolder
    metric: str
    rows: list[TrialRow]
    best: TrialRow

    @property
    def run(self) -> RunFolder:
        """The run folder of the best trial, with its model."""
        return self.folder.run(self.best.number)


def summarize(context: StudyContext) -> StudyResult:
    """Write the best settings, the tables and the plot of a study."""
    folder, metric, rows = context.folder, context.config.decision.metric, list_trials(context.study)
    best = find_best(rows, metric)
    write_tables(rows, folder.path)
    if best is None:
        reason = next((row.error for row in rows if row.error), "all were pruned")
        raise WorkError(f"none of the {len(rows)} trials in {folder.path} is complete: {reason}")
    # A worker's share of the cores is not part of the result.
    found = load_config(folder.run(best.number).config).model_copy(update={"threads": context.config.threads})
    write_toml(found, folder.best)
    draw_study(rows, context.space.parameters, metric, folder.path)
    return StudyResult(folder, metric, rows, best)


def tune(
    config: Config,
    out: Path,
    *,
    space: Path | None = None,
    trials: int = 20,
    jobs: int = 1,
    place: Workplace | None = None,
    carve: float | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> StudyResult:
    """Search for the settings that are best on validation, by the metric `decision.metric`.

    `space` is a TOML file, by default the one that comes with the model; `trials` counts those of earlier
    calls as well. `jobs` processes work at a time, here or at another `place`. `carve` sets a share of the
    training split aside as validation, for a corpus that has none.
    """
    for name, count in (("trials", trials), ("jobs", jobs)):
        if count < 1:
            raise InputError(f"--{name} is {count}; it must be >= 1")
    folder = StudyFolder(out)
    config = recall_defaults(folder.config, config)
    corpus = check_tunable(open_training_corpus(config.data), carve)
    if carve is not None:
        data = config.data.model_copy(update={"corpus": str(folder.corpus.resolve())})
        config = config.model_copy(update={"data": data})
    chosen = start_study(folder, config, space, corpus, carve, resume=resume)
    busy = f"another process works on the study {out}; wait until it ends, or name another folder"
    with hold_lock(folder.lock("study"), busy=busy, seconds=0):
        await_workers(folder)
        if carve is not None and not is_prepared(folder.corpus):
            write_carved_corpus(corpus, folder.corpus, carve)
        with open_study(folder) as study:
            context = StudyContext(folder, study, config, chosen)
            _run_trials(context, trials, jobs, place or Workplace(), progress or Silent())
            return summarize(context)


def _run_trials(context: StudyContext, trials: int, jobs: int, place: Workplace, progress: Progress) -> None:
    stale, stopped = list_stale_trials(context.study), False
    begun = len(context.study.get_trials(deepcopy=False))  # by an earlier call, which may have wanted more
    with progress.stage("trials", max(trials, begun)) as advance:
        reporter = TrialReporter(context.study, context.config.decision.metric, advance, progress)
        reporter(quietly=True)
        try:
            if jobs == 1 and place.is_here:
                run_trials(context, trials, stale, reporter)
            else:
                run_workers(context.folder, trials, stale, jobs, reporter, place)
        except (KeyboardInterrupt, StoppedError):
            stopped = True
    if stopped or len(reporter.seen) < trials:
        saved = f"all is saved in {context.folder.path}; rerun with --resume to continue"
        raise StoppedError(f"stopped with {len(reporter.seen)} of {trials} trials done; {saved}")
