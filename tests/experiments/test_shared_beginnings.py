"""Cells that differ in what comes last alone share what comes before, to the very same result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from fake_cells import fake_cell
from safetensors.numpy import load_file
from small_experiments import SETTINGS, Interrupting, Noting, small_options

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import StoppedError
from seq2set.core.progress import Advance, Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells.cell import Cell, run_cell
from seq2set.experiments.cells.plan import Schedule
from seq2set.experiments.cells.run import run_cells
from seq2set.experiments.studies.compare import STUDY as COMPARE
from seq2set.experiments.studies.reward import STUDY as REWARD
from seq2set.experiments.studies.shuffled import STUDY as SHUFFLED
from seq2set.experiments.studies.table_results import STUDY as TABLE
from seq2set.inference.predictor import Predictor

cells = REWARD.cells
compare_cells = COMPARE.cells
shuffled_cells = SHUFFLED.cells
table_cells = TABLE.cells

REWARDS = (
    *SETTINGS,
    "warm_start.epochs=3",
    "warm_start.learning_rate=0.03",
    "self_critical.epochs=2",
    "self_critical.learning_rate=0.01",
    "training.validate_every=5",
    "objective.temperature=1.0",
)

FITTING = "one classifier per label, C = 0.1"


def two_rewards(corpus: PreparedCorpus, out: Path, *more: str) -> list[Cell]:
    settings = {"seeds": (1,), "assignments": (*REWARDS, *more), "extra": {"rewards": "f1,jaccard"}}
    return cells(small_options(corpus, out, ("seq2set",), **settings))


def model_numbers(cell: Cell) -> dict[str, np.ndarray]:
    weights = cell.folder / "model" / "model.safetensors"
    return load_file(weights)


def trained(cell: Cell) -> tuple[dict[str, np.ndarray], list[dict[str, object]]]:
    """Return the model's numbers, and of each look at validation what no stop can change."""
    lasting = ("phase", "update", "learning_rate", "micro_f1")
    history = [{name: one[name] for name in lasting} for one in RunFolder(cell.folder).records()]
    return model_numbers(cell), history


def assert_same(one: Cell, other: Cell) -> None:
    (ours, history), (theirs, their_history) = trained(one), trained(other)
    assert history == their_history
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_the_second_cell_goes_on_from_the_warm_start_of_the_first(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    shared, alone = (two_rewards(small_corpus, tmp_path / name) for name in ("shared", "alone"))
    progress = Noting()
    second = [run_cell(cell, progress) for cell in shared][1]
    said = f"{shared[1].name} goes on from the warm start of {shared[0].name}, which is the same"
    assert progress.notes == [said]
    run_cell(alone[1], Silent())
    assert_same(shared[1], alone[1])
    # What it took over counts for its time.
    looks = [one for one in RunFolder(shared[0].folder).records() if one["phase"] == "warm-start"]
    assert second.seconds >= round(sum(one["seconds"] + one["validation_seconds"] for one in looks), 1)
    other, own = (trained(cell)[0] for cell in shared)
    assert any(not np.array_equal(own[name], other[name]) for name in own)  # the rewards make a difference


def test_a_cell_that_was_stopped_after_it_took_over_goes_on(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    first, second = two_rewards(small_corpus, tmp_path / "shared")
    run_cell(first, Silent())
    with pytest.raises(StoppedError):
        run_cell(second, Interrupting("self-critical", 3))
    run_cell(second, Silent())
    alone = two_rewards(small_corpus, tmp_path / "alone")[1]
    run_cell(alone, Silent())
    assert_same(second, alone)


@pytest.mark.parametrize("other", ["warm_start.epochs=2", "training.batch_size=4", "seed=2"])
def test_nothing_is_taken_over_where_the_warm_start_differs(
    small_corpus: PreparedCorpus, tmp_path: Path, other: str
) -> None:
    run_cell(two_rewards(small_corpus, tmp_path)[0], Silent())
    if other == "seed=2":
        options = {"seeds": (2,), "assignments": REWARDS, "extra": {"rewards": "f1,jaccard"}}
        cell = cells(small_options(small_corpus, tmp_path, ("seq2set",), **options))[1]
    else:
        cell = two_rewards(small_corpus, tmp_path, other)[1]
    progress = Noting()
    run_cell(cell, progress)
    assert progress.notes == []


def test_the_plan_knows_what_is_shared(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    cells = two_rewards(small_corpus, tmp_path)
    schedule = Schedule(cells)
    assert [schedule.estimate_time(cell).shares for cell in cells] == [False, True]
    schedule.failed.add(cells[0].name)
    assert not schedule.estimate_time(cells[1]).shares
    fake_cell(cells[0], 0.5)  # in a minute
    RunFolder(cells[0].folder).beginning.touch()
    schedule = Schedule(cells)
    # Three of the five epochs are those of the first.
    assert schedule.estimate_time(cells[1]).seconds == pytest.approx(60 * 2 / 5)
    # The second threshold of BR takes the classifiers of the first, however long these take.
    schedule = Schedule(both_thresholds(small_corpus, tmp_path))
    assert [step.time.seconds for step in schedule.list_steps()] == [None, 0.0]


def test_the_plan_takes_a_cell_that_has_begun_for_one_by_itself(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    begun = two_rewards(small_corpus, tmp_path)
    RunFolder.start(begun[1].folder, begun[1].config)
    assert not any(step.time.shares for step in Schedule(begun).list_steps())


@pytest.mark.parametrize("terms", ["given", "best"])
def test_cells_that_share_a_prior_keep_their_own_model_and_settings(
    small_corpus: PreparedCorpus, tmp_path: Path, terms: str
) -> None:
    settings = {"seeds": (1,), "assignments": (*SETTINGS, "prior.enabled=true", f"prior.terms={terms}")}
    models = ("seq2set-simp", "seq2set")
    together, alone = (
        compare_cells(small_options(small_corpus, tmp_path / name, models, **settings))
        for name in ("together", "alone")
    )
    run_cells(Schedule(together), Silent())  # with one prior for both
    for cell in alone:
        run_cell(cell, Silent())
    for one, other in zip(together, alone, strict=True):
        assert Predictor.open(one.folder).tagger.config.model == one.config.model
        assert_same(one, other)


class Stages(Noting):
    """Keeps the titles of the stages as well."""

    def __init__(self) -> None:
        super().__init__()
        self.titles: list[str] = []

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        self.titles.append(title)
        yield lambda done, status="", /: None


def test_the_linear_prior_is_fitted_once(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    shared, alone = (
        two_rewards(small_corpus, tmp_path / name, "prior.enabled=true") for name in ("shared", "alone")
    )
    stages = Stages()
    run_cells(Schedule(shared, 1), stages)
    assert stages.titles.count("linear prior") == 1
    for cell in alone[1:]:
        run_cell(cell, stages)
    assert stages.titles.count("linear prior") == 2  # nothing is kept outside of an experiment
    assert_same(shared[1], alone[1])


def both_thresholds(corpus: PreparedCorpus, out: Path) -> list[Cell]:
    return table_cells(small_options(corpus, out, ("br",), seeds=(1,), assignments=("linear.c=[0.1, 1.0]",)))


def test_both_thresholds_of_br_stand_on_the_same_classifiers(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    shared, alone = (both_thresholds(small_corpus, tmp_path / name) for name in ("shared", "alone"))
    run_cell(shared[0], Silent())
    stages = Stages()
    taken = run_cell(shared[1], stages)
    assert stages.notes == [f"{shared[1].name} takes the classifiers of {shared[0].name}, which are the same"]
    assert FITTING not in stages.titles
    fitted = run_cell(alone[1], stages)
    assert FITTING in stages.titles
    assert taken.metrics == fitted.metrics
    ours, theirs = (model_numbers(cell) for cell in (shared[1], alone[1]))
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    # What it took over counts for its time.
    assert taken.seconds >= round(sum(one["seconds"] for one in RunFolder(shared[0].folder).records()), 1)


def test_two_trainings_that_differ_in_nothing_are_both_done(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    settings = {"seeds": (1,), "assignments": ("linear.c=[0.1, 1.0]",)}
    in_order, shuffled = shuffled_cells(small_options(small_corpus, tmp_path, ("br",), **settings))
    run_cell(in_order, Silent())
    stages = Stages()
    run_cell(shuffled, stages)
    assert stages.notes == []
    assert FITTING in stages.titles
