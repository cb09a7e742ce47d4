"""The lock of a run folder: who holds it, and when its holder is known to be gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seq2set.config.run_locks as run_locks
from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.config.run_locks import LOCK, SILENCE, check_lock, hold_run
from seq2set.core.errors import OutputError, WorkError
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.workflows.train import train


@pytest.fixture
def other() -> Iterator[int]:
    """Another process that is there until the test ends."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.communicate()


def write_lock(folder: Path, age: float = 0.0, **changes: Any) -> Path:
    """Leave a lock as a process of this machine would, but for the changes."""
    folder.mkdir(exist_ok=True)
    (folder / LOCK).write_text(json.dumps(run_locks._describe_self() | {"mark": "its own"} | changes))
    status = (folder / LOCK).stat()
    os.utime(folder / LOCK, (status.st_mtime - age, status.st_mtime - age))
    return folder


def describe(process: int) -> dict[str, Any]:
    return {"process": process, "beginning": run_locks._find_beginning(process)}


def test_a_folder_has_one_holder(tmp_path: Path, other: int) -> None:
    write_lock(tmp_path / "run", **describe(other))
    with pytest.raises(WorkError, match=f"run is in use by process {other} on .* wait until it ends"):
        with hold_run(tmp_path / "run"):
            pass
    assert [one.name for one in (tmp_path / "run").iterdir()] == [LOCK]


def test_a_lock_goes_when_its_block_ends(tmp_path: Path) -> None:
    with hold_run(tmp_path / "deep" / "run"):
        said = json.loads((tmp_path / "deep" / "run" / LOCK).read_text())
        assert said["process"] == os.getpid()
        with hold_run(tmp_path / "deep" / "run"):  # further down in the same process
            pass
        assert (tmp_path / "deep" / "run" / LOCK).exists()
        check_lock(tmp_path / "deep" / "run")
    assert list(tmp_path.rglob("*")) == [tmp_path / "deep"]
    (tmp_path / "mine").mkdir()
    with hold_run(tmp_path / "mine"):
        pass
    assert list((tmp_path / "mine").iterdir()) == []


GONE = {
    "after a crash": {"process": 2**22 + 1},
    "another process has its number": {"beginning": "1"},
    "the machine was restarted": {"boot": "another"},
    "it says nothing of a process": {"process": None},
    "another host, silent": {"host": "elsewhere", "age": SILENCE + 1},
    "another container, silent": {"space": "pid:[1]", "age": SILENCE + 1},
}


@pytest.mark.parametrize("name", GONE)
def test_a_stale_lock_is_taken_over(name: str, tmp_path: Path, other: int) -> None:
    if not Path("/proc/self").exists() and name != "another host, silent":
        pytest.skip("this system does not tell when a process began")
    write_lock(tmp_path / "run", **(describe(other) | GONE[name]))
    with hold_run(tmp_path / "run"):
        assert json.loads((tmp_path / "run" / LOCK).read_text())["process"] == os.getpid()
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize("changes", [{"host": "elsewhere"}, {"space": "pid:[1]"}])
def test_a_holder_elsewhere_is_there_while_it_touches_the_lock(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    write_lock(tmp_path / "run", age=SILENCE / 2, process=2**22 + 1, **changes)
    with pytest.raises(WorkError, match=r"was heard of 1[45]\d s ago"), hold_run(tmp_path / "run"):
        pass


def test_a_lock_that_was_cut_off_is_waited_for_and_then_taken_over(tmp_path: Path) -> None:
    (write_lock(tmp_path / "run") / LOCK).write_text("{")
    with pytest.raises(WorkError, match="is in use"), hold_run(tmp_path / "run"):
        pass
    os.utime(tmp_path / "run" / LOCK, (0, 0))
    with hold_run(tmp_path / "run"):
        pass


def test_a_former_holder_writes_no_more(tmp_path: Path) -> None:
    run = RunFolder.start(tmp_path / "run", build_config())
    with hold_run(run.path):
        run.log({"phase": "first"})
        write_lock(run.path)  # of somebody who took it over
        with pytest.raises(WorkError, match="was taken over by another process"):
            run.log({"phase": "second"})
    assert [one["phase"] for one in run.records()] == ["first"]
    assert (run.path / LOCK).exists()  # it is not ours to remove


def test_a_lock_is_touched_while_it_is_held(tmp_path: Path) -> None:
    class TwoBeats:
        left = 2

        def wait(self, seconds: float) -> bool:
            assert seconds < SILENCE / 5
            self.left -= 1
            return self.left == 0

    with hold_run(tmp_path / "run"):
        path = (tmp_path / "run").absolute() / LOCK
        os.utime(path, (0, 0))
        run_locks._keep_alive(path, TwoBeats())  # type: ignore[arg-type]
        assert path.stat().st_mtime > 0
        path.write_text("{}")
        os.utime(path, (0, 0))
        run_locks._keep_alive(path, TwoBeats())  # type: ignore[arg-type]
        assert path.stat().st_mtime == 0


def test_a_file_system_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: int
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    with hold_run(tmp_path / "run"):
        assert json.loads((tmp_path / "run" / LOCK).read_text())["process"] == os.getpid()
    write_lock(tmp_path / "run", **describe(other))
    with pytest.raises(WorkError, match="is in use"), hold_run(tmp_path / "run"):
        pass


def test_a_lock_that_came_in_the_meantime_goes_back(tmp_path: Path) -> None:
    path = write_lock(tmp_path / "run") / LOCK
    run_locks._take_over(path, {"mark": "another"})
    assert json.loads(path.read_text())["mark"] == "its own"
    run_locks._take_over(path, json.loads(path.read_text()))
    assert not path.exists()
    run_locks._take_over(path, {})
    assert list(path.parent.iterdir()) == []


def test_systems_that_do_not_tell_when_a_process_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: int
) -> None:
    monkeypatch.setattr(run_locks, "_read_line", lambda path: "")
    monkeypatch.setattr(run_locks, "_has_proc", lambda: False)
    assert run_locks._find_beginning(other) == ""
    assert run_locks._find_beginning(2**22 + 1) is None
    monkeypatch.setattr(Path, "readlink", lambda path: (_ for _ in ()).throw(OSError()))
    assert run_locks._find_space() == ""


def test_a_folder_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with (
        pytest.raises(OutputError, match="run is a file; a folder is expected here"),
        hold_run(tmp_path / "run"),
    ):
        pass


def test_two_trainings_of_one_run(small_corpus: PreparedCorpus, tmp_path: Path, other: int) -> None:
    settings = [f'data.corpus="{small_corpus.folder}"', "linear.c=[1]"]
    config = build_config(model="br", assignments=settings)
    write_lock(tmp_path / "run", **describe(other))
    with pytest.raises(WorkError, match="is in use by process"):
        train(config, tmp_path / "run")
    (tmp_path / "run" / LOCK).unlink()
    run = train(config, tmp_path / "run")
    assert run.model.is_dir()
    assert not (run.path / LOCK).exists()
