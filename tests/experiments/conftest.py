"""A small comparison, done once for all tests that only read it."""

from __future__ import annotations

import pytest
from small_experiments import small_options

from seq2set.core.progress import Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.cells.plan import Schedule
from seq2set.experiments.cells.run import run_cells
from seq2set.experiments.options import Options
from seq2set.experiments.studies.compare import STUDY as COMPARE

cells = COMPARE.cells


@pytest.fixture(scope="session")
def compared(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> Options:
    """Options whose cells are done: br once, seq2set-simp with two seeds."""
    out = tmp_path_factory.mktemp("experiments") / "small"
    options = small_options(small_corpus, out, ("br", "seq2set-simp"))
    run_cells(Schedule(cells(options)), Silent())
    return options


@pytest.fixture(scope="session")
def results(compared: Options) -> list[CellResult]:
    return run_cells(Schedule(cells(compared)), Silent()).results
