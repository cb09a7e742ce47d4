"""What came on top of what is told by the history of a tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from house_budget import Stage, count_lines, count_rooms

STAGES = [
    Stage("base", "measured"),
    Stage("first", "grown"),
    Stage("base", "rebuilt"),
    Stage("later", "HEAD"),
]

ONE = "def count_the_labels_of_all_documents(documents):\n    return sum(map(len, documents))\n"
TWO = "def list_the_labels_of_all_documents(documents):\n    return sorted(set().union(*documents))\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    commit(tmp_path, {"src/room.py": ONE}, "measured")
    commit(tmp_path, {"src/room.py": ONE + TWO}, "grown")
    (tmp_path / "src/room.py").unlink()
    commit(tmp_path, {"src/rooms/one.py": ONE + TWO}, "rebuilt")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, files: dict[str, str], name: str) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", name)
    git(folder, "tag", name)


def test_a_line_that_is_moved_keeps_its_stage(tree: Path) -> None:
    commit(tree, {"src/rooms/more.py": "NEW = 1\nNEWER = 2\nNEWEST = 3\n"}, "later")
    # Two lines were measured and two came before the rebuilding, which moved them: base, being the first, has
    # the file of which each has a half.
    moved = {"files, base": 1, "lines, base": 2, "lines, first": 2}
    assert count_rooms(tree, "src", STAGES) == {"rooms": {**moved, "files, later": 1, "lines, later": 3}}


def test_a_line_in_the_place_of_another_is_base(tree: Path) -> None:
    changed = ONE.replace("map(len, documents)", "len(one) for one in documents") + "LAST = 0\nENDS = 1\n"
    commit(tree, {"src/rooms/one.py": changed + TWO}, "later")
    # One hunk puts three lines in the place of one: the first was changed, two came on top.
    lines = {"lines, base": 2, "lines, first": 2, "lines, later": 2}
    assert count_rooms(tree, "src", STAGES) == {"rooms": {"files, base": 1, **lines}}


def test_the_size_at_the_end_of_a_stage(tree: Path) -> None:
    assert [count_lines(tree, "src", stage.end) for stage in STAGES] == [2, 4, 4, 4]
