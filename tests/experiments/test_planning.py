from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fake_cells import fake_cell

from seq2set.config.run_folder import RunFolder
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.cells.plan import Schedule, format_duration
from seq2set.experiments.options import Options
from seq2set.experiments.studies.compare import STUDY as COMPARE

cells = COMPARE.cells


def test_the_plan_knows_what_is_done_and_what_is_begun(
    compared: Options, results: list[CellResult], tmp_path: Path
) -> None:
    schedule = Schedule(cells(replace(compared, seeds=(1, 2, 3))))
    assert [(step.cell.name, step.state) for step in schedule.list_steps()] == [
        ("br", "done"),
        ("seq2set-simp-seed1", "done"),
        ("seq2set-simp-seed2", "done"),
        ("seq2set-simp-seed3", "to do"),
    ]
    begun = cells(replace(compared, out=tmp_path))
    RunFolder.start(begun[1].folder, begun[1].config)
    assert [step.state for step in Schedule(begun).list_steps()] == ["to do", "begun", "to do"]


def test_a_cell_takes_as_long_as_others_of_its_model(compared: Options, results: list[CellResult]) -> None:
    schedule = Schedule(cells(replace(compared, seeds=(1, 2, 3))))
    (third,) = schedule.left
    expected = (results[1].seconds + results[2].seconds) / 2
    assert schedule.estimate_time(third).seconds == pytest.approx(expected)
    assert schedule.describe_time_left() == f"about {format_duration(expected)} to go"


def test_before_any_is_done_the_time_is_unknown(compared: Options, tmp_path: Path) -> None:
    planned = cells(replace(compared, out=tmp_path, seeds=(1, 2, 3, 4)))
    schedule = Schedule(planned, jobs=2)
    assert {schedule.estimate_time(cell).seconds for cell in planned} == {None}
    assert schedule.describe_time_left() == "time to go unknown"
    fake_cell(planned[1], 0.5)  # a network, in a minute
    schedule = Schedule(planned, jobs=2)
    assert schedule.estimate_time(planned[2]).seconds == 60
    # Three networks, two at a time; of BR nothing is known.
    assert schedule.describe_time_left() == "at least 2 min to go"  # 90 s
    schedule.failed.add(planned[0].name)
    schedule.failed.add(planned[2].name)
    assert [cell.name for cell in schedule.left] == ["seq2set-simp-seed3", "seq2set-simp-seed4"]
    assert schedule.describe_time_left() == "about 60 s to go"


PLAN = """
import sys
from pathlib import Path
from seq2set.experiments.options import Options
from seq2set.experiments.run import plan_experiment
options = Options(data=sys.argv[1], out=Path(sys.argv[2]), models=("br", "seq2set"))
assert len(plan_experiment("compare", options).left) == 2
assert "torch" not in sys.modules and "lightning_fabric" not in sys.modules
"""


def test_a_plan_needs_no_torch(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PLAN, str(small_corpus.folder), str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h"), (None, "unknown")]
)
def test_spans(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text
