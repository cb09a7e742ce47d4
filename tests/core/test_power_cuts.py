"""Whenever the power fails, a file or folder that is written aside is the old one or the new one, whole."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from power_cuts import record
from seq2set.core.files import append_line, write_folder_aside, write_text


def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    write_text(disk / "a", "old")
    with record(disk) as recorded:
        write_text(disk / "a", "new")
    found = [(end.lay_out(tmp_path / "left") / "a").read_text() for end in recorded.ends]
    assert set(found) == {"old", "new"}
    assert found[-4:] == ["new"] * 4
    assert recorded.syncs == 2  # the file and its folder


def test_a_deep_file_is_there_when_its_writing_returns(tmp_path: Path) -> None:
    with record(tmp_path) as recorded:
        write_text(tmp_path / "one" / "two" / "a", "new")
    for end in recorded.ends[-4:]:
        assert (end.lay_out(tmp_path.with_name("left")) / "one" / "two" / "a").read_text() == "new"
    assert recorded.syncs == 4  # the two names of folders, the file and its own


def put_two(folder: Path, text: str, *, force: bool = False) -> None:
    with write_folder_aside(folder, force=force) as aside:
        (aside / "a").write_text(text)
        (aside / "inner").mkdir()
        (aside / "inner" / "b").write_text(text)


def read_two(folder: Path) -> set[str]:
    return {(folder / name).read_text() for name in ("a", "inner/b")}


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with record(disk) as recorded:
        put_two(disk / "out", "new")
    assert recorded.syncs == 5  # two files, two folders, and the one above
    for end in recorded.ends:
        left = end.lay_out(tmp_path / "left") / "out"
        assert not left.exists() or read_two(left) == {"new"}, end.after
    assert read_two(recorded.ends[-1].lay_out(tmp_path / "left") / "out") == {"new"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two folders at once")
def test_a_replaced_folder_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    put_two(disk / "out", "old")
    with record(disk) as recorded:
        put_two(disk / "out", "new", force=True)
    found = [(end.after, read_two(end.lay_out(tmp_path / "left") / "out")) for end in recorded.ends]
    assert [one for one in found if one[1] not in ({"old"}, {"new"})] == []
    assert found[0][1] == {"old"}
    assert found[-1][1] == {"new"}


def test_lines_are_there_when_their_writing_returns(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with record(disk) as recorded:
        append_line(disk / "a", "first")
        before = len(recorded.ends)
        append_line(disk / "a", "second")
    for end in recorded.ends[before:]:
        assert (end.lay_out(tmp_path / "left") / "a").read_text() == "first\nsecond\n"
    assert recorded.syncs == 3  # each line, and once the name


def test_the_recorder_sees_a_file_that_nobody_synced(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with record(disk) as recorded:
        (disk / "aside").write_text("new")
        (disk / "aside").replace(disk / "a")
    found = [sorted(one.name for one in end.lay_out(tmp_path / "left").iterdir()) for end in recorded.ends]
    assert found == [["a"], ["a"], [], []]
    assert (recorded.ends[1].lay_out(tmp_path / "left") / "a").read_text() == ""
