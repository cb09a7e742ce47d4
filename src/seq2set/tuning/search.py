"""A whole study as one call: begin or resume it, do its trials, and write down what was found."""

from __future__ import annotations

from pathlib import Path

from seq2set.config import Config
from seq2set.corpora.prepared import is_prepared
from seq2set.errors import InputError, StoppedError
from seq2set.locking import held
from seq2set.progress import Progress, Silent
from seq2set.training_corpus import corpus_of
from seq2set.tuning.carving import carve_validation, tunable
from seq2set.tuning.study import Source, StudyFolder, begin_study, open_study, stale_trials
from seq2set.tuning.summary import Tuned, summarise
from seq2set.tuning.telling import Told
from seq2set.tuning.trial import Bench
from seq2set.tuning.worker import Plan, work
from seq2set.tuning.workers import await_workers, run_workers


def tune(
    config: Config,
    out: Path,
    *,
    space: Path | None = None,
    trials: int = 20,
    jobs: int = 1,
    carve: float | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Tuned:
    """Search for the settings that are best on validation, by the metric that `decision.metric` names.

    `space` is a TOML file, by default the one that comes with the model; `trials` counts those of earlier
    calls as well. `jobs` processes work at a time. `carve` sets a share of the training split aside as
    validation, for a corpus that has none.
    """
    for name, count in (("trials", trials), ("jobs", jobs)):
        if count < 1:
            raise InputError(f"--{name} is {count}; it must be >= 1")
    folder = StudyFolder(out)
    corpus = tunable(corpus_of(config.data), carve)
    if carve is not None:
        data = config.data.model_copy(update={"corpus": str(folder.corpus.resolve())})
        config = config.model_copy(update={"data": data})
    chosen = begin_study(folder, config, space, Source(corpus, carve), resume=resume)
    busy = f"another process works on the study {out}; wait until it ends, or name another folder"
    with held(folder.lock("study"), busy=busy, seconds=0):
        await_workers(folder)
        if carve is not None and not is_prepared(folder.corpus):
            carve_validation(corpus, folder.corpus, carve)
        with open_study(folder) as study:
            bench = Bench(folder, study, config, chosen)
            _do_trials(bench, trials, jobs, progress or Silent())
            return summarise(bench)


def _do_trials(bench: Bench, trials: int, jobs: int, progress: Progress) -> None:
    plan = Plan(trials, stale_trials(bench.study))
    begun = len(bench.study.get_trials(deepcopy=False))  # by an earlier call, which may have wanted more
    with progress.stage("trials", max(trials, begun)) as advance:
        told = Told(bench.study, bench.config.decision.metric, advance, progress)
        told.catch_up()
        try:
            if jobs == 1:
                work(bench, plan, told)
            else:
                run_workers(bench.folder, plan, jobs, told)
        except (KeyboardInterrupt, StoppedError):
            raise _stopped(bench.folder, told.count, trials) from None
    if told.count < trials:
        raise _stopped(bench.folder, told.count, trials)


def _stopped(folder: StudyFolder, done: int, trials: int) -> StoppedError:
    return StoppedError(
        f"stopped with {done} of {trials} trials done; all is saved in {folder.path}, "
        "and the same command with --resume goes on"
    )
