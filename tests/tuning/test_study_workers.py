from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from studies import BR_SPACE, br_config, cells, space_file

from seq2set.config import build_config, load_config
from seq2set.core.errors import WorkError
from seq2set.core.files import hold_lock
from seq2set.core.hardware import count_cores
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.tuning import trials
from seq2set.tuning.search import tune
from seq2set.tuning.study import StudyFolder, open_study, start_study
from seq2set.tuning.trials import await_workers, main, run_workers


@pytest.fixture
def folder(small_corpus: PreparedCorpus, tmp_path: Path) -> StudyFolder:
    folder = StudyFolder(tmp_path / "study")
    space = space_file(tmp_path, BR_SPACE)
    start_study(folder, br_config(small_corpus), space, small_corpus, resume=False)
    return folder


@pytest.fixture
def pipe() -> Iterator[int]:
    reading, writing = os.pipe()
    yield reading
    os.close(writing)


@pytest.mark.usefixtures("undrawn")
def test_workers_share_the_trials_and_find_what_one_process_finds(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    config, space = br_config(small_corpus), space_file(tmp_path, BR_SPACE)
    tune(config, tmp_path / "alone", space=space, trials=3)
    found = tune(config, tmp_path / "shared", space=space, trials=3, jobs=2)
    assert cells(tmp_path / "shared") == cells(tmp_path / "alone")
    # A worker has its share of the cores; what was found is not about that.
    assert load_config(found.run.config).threads == max(1, count_cores() // 2)
    assert build_config(file=tmp_path / "shared" / "best.toml").threads == "auto"


def test_a_worker_takes_up_its_trials_and_does_the_rest(folder: StudyFolder, pipe: int) -> None:
    with open_study(folder) as study:
        study.ask()
    assert main([str(folder.path), "3", "1", "0"], pipe) == 0
    with open_study(folder) as study:
        assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 3


def test_a_worker_stops_when_nobody_waits_for_it(folder: StudyFolder) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    assert main([str(folder.path), "500", "1"], reading) == 0
    with open_study(folder) as study:
        assert len(study.trials) < 500


def test_a_worker_says_what_is_wrong(
    folder: StudyFolder, pipe: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.config.unlink()
    assert main([str(folder.path), "1", "1"], pipe) == 2
    assert capsys.readouterr().err == f"the settings file {folder.config} does not exist\n"


def test_a_worker_that_fails_ends_the_work_with_its_last_words(folder: StudyFolder) -> None:
    folder.config.unlink()
    with pytest.raises(WorkError) as failed:
        run_workers(folder, 2, [], 1, lambda: None)
    assert str(failed.value) == (
        f"a worker process ended with: the settings file {folder.config} does not exist "
        f"(its output is in {folder.path / 'worker-1.log'}); rerun with --resume to continue"
    )


def test_workers_stop_with_whoever_waits_for_them(folder: StudyFolder) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_workers(folder, 500, [], 1, interrupt)
    with hold_lock(folder.lock("workers"), busy="a worker is left", seconds=0), open_study(folder) as study:
        assert len(study.trials) < 500


def test_workers_that_were_left_behind_are_waited_for(
    folder: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "ORPHAN_SECONDS", 0.1)
    with hold_lock(folder.lock("workers"), busy="", seconds=0, shared=True):
        with hold_lock(folder.lock("workers"), busy="", seconds=0, shared=True):  # several may work at a time
            with pytest.raises(WorkError, match="still has worker processes of a study that was stopped"):
                await_workers(folder)
    await_workers(folder)
