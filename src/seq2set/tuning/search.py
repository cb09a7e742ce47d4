"""What a study tells while it runs: a sentence a trial, and the best so far.

The picture of a study: the value of every trial with the best so far, and a slice a setting.

Marks differ in shape, not in colour alone.

What a study found: the best settings as a file to train with, tables of all trials, and a picture.

A whole study as one call: begin or resume it, do its trials, and write down what was found.
"""

from __future__ import annotations

import math
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from seq2set.config import Config, load_config, write_toml
from seq2set.config.catalog import METRICS
from seq2set.config.run_folder import RunFolder
from seq2set.core.drawing import BARE_SVG, BLUE, GREY, ORANGE, apply_style, format_powers
from seq2set.core.errors import InputError, StoppedError, WorkError
from seq2set.core.files import hold_lock, write_aside
from seq2set.core.progress import Advance, Progress, Silent
from seq2set.corpora.prepared import is_prepared
from seq2set.corpora.subset import carve_validation, check_tunable
from seq2set.tuning.space import Parameter
from seq2set.tuning.study import (
    StudyCorpus,
    StudyFolder,
    TrialRow,
    find_best,
    format_value,
    list_stale_trials,
    list_trials,
    open_study,
    start_study,
    write_tables,
)
from seq2set.tuning.trials import StudyContext
from seq2set.tuning.workers import TrialPlan, await_workers, run_trials, run_workers
from seq2set.workflows.training_corpus import open_training_corpus


class TrialReporter:
    """Tells of trials that came to an end since it was last called."""

    def __init__(self, study: optuna.Study, metric: str, advance: Advance, progress: Progress):
        self.study, self.metric, self.advance, self.progress = study, metric, advance, progress
        self.seen: set[int] = set()

    @property
    def count(self) -> int:
        """How many trials came to an end."""
        return len(self.seen)

    def __call__(self) -> None:
        """Look into the study, and tell."""
        for row in self.catch_up():
            self.progress.note(_describe(row, self.metric))

    def catch_up(self) -> list[TrialRow]:
        """Move on by the trials that are new, and return them."""
        rows = list_trials(self.study)
        best = find_best(rows, self.metric)
        new = [row for row in rows if row.number not in self.seen]
        self.seen |= {row.number for row in new}
        if new:
            self.advance(len(new), f"best {best.score:.4f} (trial {best.number})" if best else "")
        return new


def _describe(row: TrialRow, metric: str) -> str:
    if row.state == "complete":
        return f"trial {row.number}: {metric} {row.value:.4f} after {row.seconds:.0f} s"
    if row.state == "pruned":
        return f"trial {row.number}: pruned after {row.looks} validations, worse than half of the others"
    return f"trial {row.number}: failed, {row.error}"


COLUMNS = 3
WIDTH, ROW_HEIGHT = 9.0, 2.7


class Limits(NamedTuple):
    """Between which values pictures are drawn: those of trials that came to their end, with some room."""

    low: float
    high: float

    def inside(self, value: float) -> float:
        """Move a value to the edge where it lies outside."""
        return min(max(value, self.low), self.high)


def draw_study(rows: list[TrialRow], parameters: tuple[Parameter, ...], metric: str, folder: Path) -> None:
    """Draw `study.png` and `study.svg` into the folder."""
    lines = math.ceil(len(parameters) / COLUMNS)
    limits = _limits(rows)
    with apply_style(font_size=9):
        figure = Figure(figsize=(WIDTH, ROW_HEIGHT * (lines + 1.2)), layout="constrained", dpi=120)
        grid = figure.add_gridspec(lines + 1, COLUMNS, height_ratios=[1.2] + [1.0] * lines)
        _history(figure.add_subplot(grid[0, :]), rows, metric, limits)
        for place, one in enumerate(parameters):
            axes = figure.add_subplot(grid[1 + place // COLUMNS, place % COLUMNS])
            axes.set_ylabel("" if place % COLUMNS else metric)
            _slice(axes, rows, one, limits)
        _save(figure, folder / "study.png")
        figure.set_layout_engine("none")  # it stays as it was laid out
        _save(figure, folder / "study.svg")


def _save(figure: Figure, path: Path) -> None:
    with write_aside(path) as aside:
        metadata = BARE_SVG if path.suffix == ".svg" else None  # the same study, the same file
        figure.savefig(aside, format=path.suffix[1:], metadata=metadata)


def _limits(rows: list[TrialRow]) -> Limits:
    values = [row.score for row in _of(rows, "complete")]
    room = 0.1 * (max(values) - min(values)) or 0.01
    return Limits(min(values) - room, max(values) + room)


def _history(axes: Axes, rows: list[TrialRow], metric: str, limits: Limits) -> None:
    _marks(axes, rows, [row.number for row in rows], limits)
    done = _of(rows, "complete")
    best = list(accumulate((row.score for row in done), min if METRICS[metric].better == "lower" else max))
    numbers = [*(row.number for row in done), rows[-1].number]
    axes.step(numbers, [*best, best[-1]], where="post", color=ORANGE, label=f"best so far: {best[-1]:.4f}")
    axes.set(xlabel="trial", ylabel=f"validation {metric}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _slice(axes: Axes, rows: list[TrialRow], one: Parameter, limits: Limits) -> None:
    """Draw the values of the trials against one setting."""
    values = [row.settings[one.name] for row in rows]
    if isinstance(one.distribution, CategoricalDistribution):
        names = [format_value(value) for value in one.choices]
        values = [names.index(format_value(value)) for value in values]
        axes.set_xticks(range(len(names)), names)
        axes.set_xlim(-0.5, len(names) - 0.5)
    else:
        assert isinstance(one.distribution, FloatDistribution | IntDistribution)
        if one.distribution.log:
            axes.set_xscale("log")
            format_powers(axes.xaxis)
        elif isinstance(one.distribution, IntDistribution):
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    _marks(axes, rows, values, limits)
    axes.set_xlabel(one.name)


def _marks(axes: Axes, rows: list[TrialRow], places: list[Any], limits: Limits) -> None:
    """Draw a mark a trial; one that was given up far below the others stands at the edge."""
    kinds = (("complete", "o", BLUE, "a trial's value"), ("pruned", "x", GREY, "given up: its last look"))
    for state, mark, colour, label in kinds:
        points = [
            (place, limits.inside(row.score))
            for place, row in zip(places, rows, strict=True)
            if row.state == state and row.value is not None
        ]
        if points:
            axes.plot(*zip(*points, strict=True), mark, color=colour, alpha=0.8, label=label, clip_on=False)
    axes.set_ylim(limits.low, limits.high)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)


def _of(rows: list[TrialRow], state: str) -> list[TrialRow]:
    return [row for row in rows if row.state == state]


class StudyResult(NamedTuple):
    """The best trial of a study, and where everything lies."""

    folder: StudyFolder
    metric: str
    rows: list[TrialRow]
    best: TrialRow

    @property
    def run(self) -> RunFolder:
        """The run folder of the best trial, with its model."""
        return self.folder.run(self.best.number)


def summarize(context: StudyContext) -> StudyResult:
    """Write the best settings, the tables and the picture of a study."""
    folder, metric, rows = context.folder, context.config.decision.metric, list_trials(context.study)
    best = find_best(rows, metric)
    write_tables(rows, folder.path)
    if best is None:
        reason = next((row.error for row in rows if row.error), "all were pruned")
        raise WorkError(f"none of the {len(rows)} trials in {folder.path} came to its end: {reason}")
    # A worker's share of the cores is no part of what was found.
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
    carve: float | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> StudyResult:
    """Search for the settings that are best on validation, by the metric that `decision.metric` names.

    `space` is a TOML file, by default the one that comes with the model; `trials` counts those of earlier
    calls as well. `jobs` processes work at a time. `carve` sets a share of the training split aside as
    validation, for a corpus that has none.
    """
    for name, count in (("trials", trials), ("jobs", jobs)):
        if count < 1:
            raise InputError(f"--{name} is {count}; it must be >= 1")
    folder = StudyFolder(out)
    corpus = check_tunable(open_training_corpus(config.data), carve)
    if carve is not None:
        data = config.data.model_copy(update={"corpus": str(folder.corpus.resolve())})
        config = config.model_copy(update={"data": data})
    chosen = start_study(folder, config, space, StudyCorpus(corpus, carve), resume=resume)
    busy = f"another process works on the study {out}; wait until it ends, or name another folder"
    with hold_lock(folder.lock("study"), busy=busy, seconds=0):
        await_workers(folder)
        if carve is not None and not is_prepared(folder.corpus):
            carve_validation(corpus, folder.corpus, carve)
        with open_study(folder) as study:
            context = StudyContext(folder, study, config, chosen)
            _run_trials(context, trials, jobs, progress or Silent())
            return summarize(context)


def _run_trials(context: StudyContext, trials: int, jobs: int, progress: Progress) -> None:
    plan = TrialPlan(trials, list_stale_trials(context.study))
    begun = len(context.study.get_trials(deepcopy=False))  # by an earlier call, which may have wanted more
    with progress.stage("trials", max(trials, begun)) as advance:
        reporter = TrialReporter(context.study, context.config.decision.metric, advance, progress)
        reporter.catch_up()
        try:
            if jobs == 1:
                run_trials(context, plan, reporter)
            else:
                run_workers(context.folder, plan, jobs, reporter)
        except (KeyboardInterrupt, StoppedError):
            raise _build_stop(context.folder, reporter.count, trials) from None
    if reporter.count < trials:
        raise _build_stop(context.folder, reporter.count, trials)


def _build_stop(folder: StudyFolder, done: int, trials: int) -> StoppedError:
    return StoppedError(
        f"stopped with {done} of {trials} trials done; all is saved in {folder.path}; rerun "
        "with --resume to continue"
    )
