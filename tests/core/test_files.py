from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import save_file

import seq2set.core.disk as disk
from seq2set.core.errors import OutputError, WorkError
from seq2set.core.files import (
    compute_sha256,
    hold_lock,
    read_json,
    report_output_errors,
    write_aside,
    write_folder_aside,
    write_json,
    write_text,
)


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole(tmp_path: Path) -> None:
    write_text(tmp_path / "deep" / "a.txt", "grün")
    assert (tmp_path / "deep" / "a.txt").read_text(encoding="utf-8") == "grün"
    assert left_over(tmp_path / "deep") == ["a.txt"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(RuntimeError), write_aside(tmp_path / "a.txt") as aside:
        aside.write_text("half")
        raise RuntimeError
    assert (tmp_path / "a.txt").read_text() == "old"
    assert left_over(tmp_path) == ["a.txt"]


def test_files_get_ordinary_permissions(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_json(tmp_path / "a.json", {"a": 1})
    finally:
        os.umask(before)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o644


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), write_folder_aside(tmp_path / "out") as aside:
        (aside / "half").touch()
        raise RuntimeError
    assert left_over(tmp_path) == []
    with write_folder_aside(tmp_path / "out") as aside:
        (aside / "whole").touch()
    assert left_over(tmp_path / "out") == ["whole"]


def test_the_old_folder_goes_back_when_the_new_one_cannot_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on systems where two folders cannot be exchanged."""
    monkeypatch.setattr("seq2set.core.files.exchange_folders", lambda *_: False)
    out = tmp_path / "out"
    out.mkdir()
    (out / "old").touch()
    replace = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if (self / "new").exists():
            raise OSError(errno.ENOSPC, "full")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with (
        pytest.raises(OutputError, match="disk is full"),
        write_folder_aside(out, force=True) as aside,
    ):
        (aside / "new").touch()
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["out", "out/old"]


def test_an_occupied_folder_needs_force(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").touch()
    with (
        pytest.raises(OutputError, match="out is not empty; name another folder or pass --force"),
        write_folder_aside(tmp_path / "out"),
    ):
        pass
    assert left_over(tmp_path / "out") == ["precious"]
    with write_folder_aside(tmp_path / "out", force=True) as aside:
        (aside / "new").touch()
        assert left_over(tmp_path / "out") == ["precious"]
    assert left_over(tmp_path / "out") == ["new"]


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with (
        pytest.raises(OutputError, match="out is a file; a folder is expected here"),
        write_folder_aside(tmp_path / "out", force=True),
    ):
        pass


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "permission is denied"), (errno.EROFS, "read-only")],
)
def test_the_systems_complaints_become_a_sentence(number: int, sentence: str) -> None:
    with (
        pytest.raises(OutputError, match=f"cannot write to x: .*{sentence}"),
        report_output_errors(Path("x")),
    ):
        raise OSError(number, "as the system says")


def test_a_really_full_disk() -> None:
    with pytest.raises(OutputError, match="the disk is full"), report_output_errors(Path("/dev/full")):
        with Path("/dev/full").open("w") as stream:
            stream.write("x")


def test_a_folder_is_replaced_where_two_cannot_be_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seq2set.core.disk.sys.platform", "darwin")
    disk._find_rename.cache_clear()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    with write_folder_aside(tmp_path / "out", force=True) as aside:
        (aside / "new").touch()
    disk._find_rename.cache_clear()
    assert left_over(tmp_path) == ["out"]
    assert left_over(tmp_path / "out") == ["new"]


def test_a_folder_has_ordinary_permissions_whatever_wrote_its_files(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with write_folder_aside(tmp_path / "out") as aside:
            (aside / "inner").mkdir(mode=0o700)
            save_file({"a": np.zeros(1)}, aside / "inner" / "a.safetensors")  # which gives it 0600
    finally:
        os.umask(before)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.rglob("*")}
    assert modes == {"out": "0o755", "inner": "0o755", "a.safetensors": "0o644"}


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_a_file_system_that_has_nothing_to_sync(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(number, "as the system says")

    monkeypatch.setattr(os, "fsync", refuse)
    if number == errno.EINVAL:
        write_text(tmp_path / "a", "x")
        assert left_over(tmp_path) == ["a"]
        return
    with pytest.raises(OSError, match="as the system says"):
        write_text(tmp_path / "a", "x")
    assert left_over(tmp_path) == []


def test_what_libraries_say_of_a_full_disk_becomes_a_sentence(tmp_path: Path) -> None:
    for words in ("I/O error: No space left on device (os error 28)", "File too large (os error 27)"):
        with pytest.raises(OutputError, match="cannot write to x: the"), report_output_errors(Path("x")):
            raise SafetensorError(words)
    with pytest.raises(OutputError, match="the disk is full"), report_output_errors(Path("x")):
        raise OSError("8000 requested and 120 written")  # numpy
    with pytest.raises(SafetensorError, match="strange"), report_output_errors(Path("x")):
        raise SafetensorError("strange")


def test_other_complaints_pass() -> None:
    with pytest.raises(OSError, match="strange"), report_output_errors(Path("x")):
        raise OSError(errno.EIO, "strange")


def test_a_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="a part of the path is a file"):
        write_text(tmp_path / "file" / "a.txt", "x")


def test_sha256(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc" * 1_000_000)
    assert compute_sha256(tmp_path / "a") == hashlib.sha256(b"abc" * 1_000_000).hexdigest()


def test_json_of_earlier_versions_has_the_keys_of_today(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(
        '{"documents_a_second": 2, "all": [{"corpus": {"labels_a_document": 1.5, "name": "texts_a_pass"}}]}',
        encoding="utf-8",
    )
    assert read_json(tmp_path / "old.json") == {
        "documents_per_second": 2,
        "all": [{"corpus": {"labels_per_document": 1.5, "name": "texts_a_pass"}}],
    }


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with hold_lock(lock, busy="first", seconds=0):
        with (
            pytest.raises(WorkError, match="^somebody is here$"),
            hold_lock(lock, busy="somebody is here", seconds=0),
        ):
            pass
    with hold_lock(lock, busy="nobody is left", seconds=0):
        pass


def test_those_who_share_a_lock_keep_others_out(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with hold_lock(lock, busy="", seconds=0, shared=True), hold_lock(lock, busy="", seconds=0, shared=True):
        with (
            pytest.raises(WorkError, match="^two are here$"),
            hold_lock(lock, busy="two are here", seconds=0),
        ):
            pass


def test_a_lock_is_let_go_of_when_its_block_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), hold_lock(tmp_path / "lock", busy="", seconds=0):
        raise ZeroDivisionError
    with hold_lock(tmp_path / "lock", busy="it is still held", seconds=0):
        pass
