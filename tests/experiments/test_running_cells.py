from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from small_experiments import Interrupting, Noting, small_options

from seq2set.core.errors import InputError, StoppedError, WorkError
from seq2set.core.processes import EndedWorker, WorkerPool
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.cells import run as worker
from seq2set.experiments.cells.cell import Cell, CellResult, read_result
from seq2set.experiments.cells.plan import Schedule
from seq2set.experiments.cells.run import read_failure, run_cells, start_worker
from seq2set.experiments.options import Options
from seq2set.experiments.run import run_experiment
from seq2set.experiments.studies.compare import STUDY as COMPARE
from seq2set.experiments.studies.study import make_cells

cells = COMPARE.cells


def spoilt(cell: Cell) -> Cell:
    """A cell whose gradients overflow at once."""
    fast = cell.config.warm_start.model_copy(update={"learning_rate": 1e38})
    return replace(cell, config=cell.config.model_copy(update={"warm_start": fast}))


def test_progress_is_told(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    options = small_options(small_corpus, tmp_path, ("br",))
    progress = Noting()
    run_cells(Schedule(cells(options)), progress)
    assert progress.notes[0] == "br: cell 1 of 1, 0 done, 1 left, time to go unknown"
    assert progress.notes[-1].startswith("br: micro-F1 ")
    again = Noting()
    run_cells(Schedule(cells(options)), again)
    assert again.notes == ["1 of 1 cell is done already"]


def test_one_failure_does_not_stop_the_rest(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    first, second = cells(small_options(small_corpus, tmp_path, ("br", "seq2set-simp"), seeds=(1,)))
    progress = Noting()
    outcome = run_cells(Schedule([spoilt(second), first]), progress)
    assert [result.row for result in outcome.results] == ["br"]
    assert any(note.startswith("seq2set-simp-seed1 failed: ") for note in progress.notes)
    with pytest.raises(
        WorkError, match="1 cell failed, the rest is done; seq2set-simp-seed1: the .* is (nan|inf)"
    ):
        outcome.raise_failures()


def test_a_stop_says_how_to_go_on(compared: Options, tmp_path: Path) -> None:
    schedule = Schedule(cells(replace(compared, out=tmp_path)))
    with pytest.raises(
        StoppedError, match="stopped with 1 of 3 cells done; rerun the same command to continue"
    ):
        run_cells(schedule, Interrupting("warm-start", 2))
    assert Schedule(schedule.cells).results.keys() == {"br"}


def test_the_results_of_what_is_done_are_written_before_a_failure_is_raised(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    nan = ("warm_start.learning_rate=1e38",)
    options = small_options(small_corpus, tmp_path, ("br", "seq2set-simp"), seeds=(1,))
    with pytest.raises(WorkError, match="1 cell failed"):
        run_experiment("compare", replace(options, assignments=options.assignments + nan))
    assert (tmp_path / "compare" / "index.html").is_file()
    alone = replace(
        options, out=tmp_path / "alone", models=("seq2set-simp",), assignments=options.assignments + nan
    )
    with pytest.raises(WorkError, match="1 cell failed"):
        run_experiment("compare", alone)
    assert not (tmp_path / "alone" / "compare").exists()


def test_processes_reach_the_same_results(
    compared: Options, results: list[CellResult], tmp_path: Path
) -> None:
    options = replace(compared, out=tmp_path, jobs=2)
    good = make_cells(options, "br", "br") + make_cells(options, "br", "br-weak", "linear.c=[0.001]")
    bad = replace(good[0], row="bad", folder=tmp_path / "bad", split="nowhere")
    progress = Noting()
    outcome = run_cells(Schedule(good, 2), progress)
    assert [one.row for one in outcome.results] == ["br", "br-weak"]
    assert outcome.results[0].metrics == results[0].metrics
    assert outcome.results[1].metrics != results[0].metrics
    assert len(progress.notes) == 2
    with pytest.raises(InputError, match="split 'nowhere' is not known"):
        run_cells(Schedule([*good, bad], 2), progress)


def test_a_failure_in_a_process_does_not_stop_the_rest(
    compared: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    outcome = run_cells(Schedule(cells(replace(compared, out=tmp_path)), 2), Noting())
    assert outcome.results == []
    assert [one.sentence for one in outcome.failures] == ["its process ended with code 1"] * 3


def test_a_process_that_is_killed_is_a_failure_and_one_that_is_left_alone_stops(
    compared: Options, tmp_path: Path
) -> None:
    long = ("warm_start.epochs=100000", "training.validate_every=50")
    first, second = cells(replace(compared, out=tmp_path, assignments=compared.assignments + long))[1:3]
    with WorkerPool[Cell](2) as pool:
        start_worker(pool, first)
        start_worker(pool, second)
        assert pool.free_slot is None
        _wait_for(first.folder / "history.jsonl", second.folder / "history.jsonl")
        os.kill(pool._workers[0].process.pid, signal.SIGKILL)
        (ended,) = pool.wait()
        assert (ended.job, read_failure(ended)) == (first, "its process ended with code -9")
        assert pool.jobs == [second]
    # Leaving the block closed the other's input: it saved everything and stopped, and its time is kept.
    assert (second.folder / "spent.json").is_file()
    assert read_result(second) is None


def _wait_for(*paths: Path) -> None:
    deadline = time.monotonic() + 600
    while not all(path.is_file() for path in paths):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def failure_of(cell: Cell, output: str) -> str | None:
    return read_failure(EndedWorker(cell, output, 1))


def test_the_outcome_of_a_worker_is_read(compared: Options) -> None:
    cell = cells(compared)[0]
    assert failure_of(cell, 'warning\n{"code": 0}\n') is None
    assert failure_of(cell, '{"code": 1, "error": "WorkError", "message": "no luck"}\n') == "no luck"
    with pytest.raises(InputError, match="wrong call"):
        failure_of(cell, '{"code": 2, "error": "InputError", "message": "wrong call"}\n')
    with pytest.raises(StoppedError, match="stopped"):
        failure_of(cell, '{"code": 1, "error": "StoppedError", "message": "stopped"}\n')


def test_the_worker_does_its_cell(
    compared: Options,
    results: list[CellResult],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[list[int]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: kept.append(cores), raising=False)
    reading, writing = os.pipe()
    os.write(writing, (json.dumps(cells(compared)[0].to_dict()) + "\n").encode())
    with os.fdopen(reading) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        monkeypatch.setattr(sys, "argv", ["worker", "0"])
        monkeypatch.setattr(threading.Thread, "start", lambda self: None)
        worker.main()
    os.close(writing)
    assert json.loads(capsys.readouterr().out) == {"code": 0}
    assert kept == [[0]]


def test_the_worker_says_what_went_wrong(
    compared: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = cells(replace(compared, out=tmp_path, data=str(tmp_path / "nowhere.csv")))[0]
    said = worker.work(json.dumps(cell.to_dict()))
    assert (said["error"], said["code"]) == ("CorpusError", 2)
    monkeypatch.setattr(worker, "run_cell", _pressed)
    assert worker.work(json.dumps(cell.to_dict()))["error"] == "StoppedError"


def _pressed(cell: Cell, progress: object) -> None:
    raise KeyboardInterrupt
