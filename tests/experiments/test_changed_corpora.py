"""Cells and a corpus that is not the one that they were begun on: nothing of them is used for the new one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fake_cells import fake_cell
from small_experiments import SETTINGS, Noting, small_options

from changing_corpora import all_documents, contents, with_one_label_rare, write_prepared
from seq2set.core.errors import InputError
from seq2set.core.progress import Advance, Silent
from seq2set.corpora.documents import Document
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells.cell import FACTS, Cell, read_result, run_cell
from seq2set.experiments.cells.plan import Schedule
from seq2set.experiments.studies.reward import STUDY as REWARD
from seq2set.experiments.studies.table_results import STUDY as TABLE

reward_cells = REWARD.cells
table_cells = TABLE.cells

REFUSED = "was begun on another corpus than small is now .* put the corpus back as it was, or name another"

Pair = Callable[[PreparedCorpus, Path], list[Cell]]


@pytest.fixture
def documents(small_corpus: PreparedCorpus) -> list[Document]:
    return all_documents(small_corpus)


@pytest.fixture
def corpus(documents: list[Document], tmp_path: Path) -> PreparedCorpus:
    """A corpus that a test may change."""
    return write_prepared(tmp_path / "corpus", documents)


def both_thresholds(corpus: PreparedCorpus, out: Path) -> list[Cell]:
    """Return two cells of which the second can take over the classifiers of the first."""
    return table_cells(small_options(corpus, out, ("br",), seeds=(1,), assignments=("linear.c=[1.0]",)))


def two_rewards(corpus: PreparedCorpus, out: Path) -> list[Cell]:
    """Return two cells of which the second can take over the warm start of the first."""
    assignments = (*SETTINGS, "warm_start.epochs=2", "self_critical.epochs=1", "training.batch_size=32")
    settings = {"seeds": (1,), "assignments": assignments, "extra": {"rewards": "f1,jaccard"}}
    return reward_cells(small_options(corpus, out, ("seq2set-simp",), **settings))


def test_a_finished_cell_is_not_one_of_another_corpus(
    corpus: PreparedCorpus, documents: list[Document], tmp_path: Path
) -> None:
    cell = both_thresholds(corpus, tmp_path / "out")[0]
    facts = run_cell(cell, Silent()).facts
    kept = contents(cell.folder)
    write_prepared(corpus.folder, with_one_label_rare(documents))
    for attempt in (lambda: Schedule([cell]), lambda: run_cell(cell, Silent())):
        with pytest.raises(InputError, match=REFUSED) as caught:
            attempt()
        assert f"fingerprint {facts['corpus']['fingerprint']}, now " in str(caught.value)
    assert contents(cell.folder) == kept
    write_prepared(corpus.folder, documents)
    assert run_cell(cell, Silent()).facts == facts


def test_the_test_split_counts_as_well(
    corpus: PreparedCorpus, documents: list[Document], tmp_path: Path
) -> None:
    cell = both_thresholds(corpus, tmp_path / "out")[0]
    run_cell(cell, Silent())
    test = [one for one in documents if one.split == "test"]
    changed = test[0]._replace(labels=("grain", "money", "oil"))
    write_prepared(corpus.folder, [changed if one == test[0] else one for one in documents])
    with pytest.raises(InputError, match=REFUSED):
        read_result(cell)
    (cell.folder / FACTS).unlink()  # the model would be measured on documents that it was not begun with
    with pytest.raises(InputError, match=REFUSED):
        run_cell(cell, Silent())


def test_a_cell_of_an_earlier_version_is_known_by_its_result(
    corpus: PreparedCorpus, documents: list[Document], tmp_path: Path
) -> None:
    cell = both_thresholds(corpus, tmp_path / "out")[0]
    fake_cell(cell, 0.5)
    assert not (cell.folder / "run.json").exists()
    assert read_result(cell) is not None
    write_prepared(corpus.folder, with_one_label_rare(documents))
    with pytest.raises(InputError, match=REFUSED):
        read_result(cell)


def test_a_cell_that_was_stopped_does_not_go_on_with_another_corpus(
    corpus: PreparedCorpus, documents: list[Document], tmp_path: Path
) -> None:
    cell = both_thresholds(corpus, tmp_path / "out")[0]
    run_cell(cell, Silent())
    shutil.rmtree(cell.folder / "model")
    (cell.folder / FACTS).unlink()
    write_prepared(corpus.folder, with_one_label_rare(documents))
    with pytest.raises(InputError, match=REFUSED):
        Schedule([cell])


@pytest.mark.parametrize("pair", [both_thresholds, two_rewards])
def test_nothing_is_taken_over_from_a_neighbour_on_another_corpus(
    corpus: PreparedCorpus, documents: list[Document], tmp_path: Path, pair: Pair
) -> None:
    first, second = pair(corpus, tmp_path / "out")
    run_cell(first, Silent())
    write_prepared(corpus.folder, with_one_label_rare(documents))
    progress = Noting()
    found = run_cell(second, progress)
    assert progress.notes == []
    alone = run_cell(pair(corpus, tmp_path / "alone")[1], Silent())
    assert found.metrics == alone.metrics


@pytest.mark.parametrize("pair", [both_thresholds, two_rewards])
def test_nothing_is_taken_over_from_a_neighbour_that_recorded_nothing(
    corpus: PreparedCorpus, tmp_path: Path, pair: Pair
) -> None:
    first, second = pair(corpus, tmp_path / "out")
    run_cell(first, Silent())
    (first.folder / "run.json").unlink()
    progress = Noting()
    run_cell(second, progress)
    assert progress.notes == []


class _Changing(Silent):
    """Changes the corpus while a model is being trained on it."""

    def __init__(self, change: Callable[[], object]):
        self.change = change

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        if title == "features":
            self.change()
        yield lambda done, status="", /: None


def test_a_corpus_that_changes_during_the_training_is_not_measured_on(
    corpus: PreparedCorpus, documents: list[Document], tmp_path: Path
) -> None:
    cell = both_thresholds(corpus, tmp_path / "out")[0]
    with pytest.raises(InputError, match=REFUSED):
        run_cell(cell, _Changing(lambda: write_prepared(corpus.folder, with_one_label_rare(documents))))
    assert not (cell.folder / FACTS).exists()
    write_prepared(corpus.folder, documents)
    assert run_cell(cell, Silent()).facts["corpus"]["fingerprint"] == corpus.fingerprint
