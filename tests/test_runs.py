from __future__ import annotations

from pathlib import Path

import pytest

from seq2set.config import Config, build_config
from seq2set.errors import ConfigError, InputError, OutputError
from seq2set.runs import RunFolder


def test_a_new_run_keeps_its_settings(tmp_path: Path) -> None:
    run = RunFolder.start(tmp_path / "run", Config(seed=4))
    assert run.checkpoints.is_dir()
    assert "seed = 4" in run.config.read_text()


def test_an_occupied_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(OutputError, match="is not empty"):
        RunFolder.start(tmp_path, Config())
    RunFolder.start(tmp_path / "run", Config())
    with pytest.raises(InputError, match="holds a run already; pass --resume"):
        RunFolder.start(tmp_path / "run", Config())


def test_resume_takes_the_same_settings_only(tmp_path: Path) -> None:
    RunFolder.start(tmp_path / "run", build_config())
    RunFolder.start(tmp_path / "run", build_config(), resume=True)
    changed = build_config(assignments=["seed=2", "text.lowercase=false"])
    with pytest.raises(ConfigError) as caught:
        RunFolder.start(tmp_path / "run", changed, resume=True)
    assert "seed: 1 -> 2" in caught.value.faults[0]
    assert "text.lowercase: True -> False; resume with the same, or begin a new run" in caught.value.faults[1]


def test_resume_without_a_run_begins_one(tmp_path: Path) -> None:
    assert RunFolder.start(tmp_path / "run", Config(), resume=True).config.is_file()


def test_history_passes_over_a_line_cut_off_by_a_crash(tmp_path: Path) -> None:
    run = RunFolder.start(tmp_path / "run", Config())
    assert run.records() == []
    run.log({"step": 1})
    run.log({"step": 2})
    with run.history.open("a") as stream:
        stream.write('{"step": 3')
    assert run.records() == [{"step": 1}, {"step": 2}]
    again = RunFolder.start(tmp_path / "run", Config(), resume=True)
    again.log({"step": 3})
    assert again.records() == [{"step": 1}, {"step": 2}, {"step": 3}]
