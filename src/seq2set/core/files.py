"""Files that are never half-written, checksums, and locks between processes.

A file is written aside, brought to the disk and then renamed, and its folder is brought to the disk as well:
whenever the power fails, the old content or the new one is there, whole. What is read back was checksummed. A
lock is held for as long as a block runs and is released when its process dies: SQLite locks its files in this
way on every system, and nothing is ever written to a lock file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from seq2set.core.disk import exchange_folders, make_folder, sync
from seq2set.core.errors import OutputError, WorkError
from seq2set.core.outputs import FolderKind, refuse_occupied

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
    errno.EROFS: "the file system is read-only",
    errno.EEXIST: "a part of the path is a file, not a folder",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EISDIR: "there is a folder instead of the file",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EFBIG: "the file would be larger than is allowed here",
}
_NUMBERED = re.compile(r"os error (\d+)")
_CUT_SHORT = re.compile(r"\d+ requested and \d+ written")


@contextmanager
def report_output_errors(path: Path) -> Iterator[None]:
    """Turn the system's complaints about writing to `path` into one sentence."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        number = _find_number(error)
        if number not in _REASONS:
            raise
        raise OutputError(f"cannot write to {path}: {_REASONS[number]}") from error


def _find_number(error: Exception) -> int | None:
    """Return the system's number of an error; safetensors tells it in words, and numpy not at all."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if _CUT_SHORT.search(str(error)):
        return errno.ENOSPC
    told = _NUMBERED.search(str(error))
    return None if told is None else int(told[1])


@contextmanager
def write_aside(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it over `path` when the block ends well."""
    with report_output_errors(path):
        make_folder(path.parent)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        aside = Path(name)
        try:
            yield aside
            put_file(aside, path, 0o666 & ~_read_umask())
        finally:
            aside.unlink(missing_ok=True)


def put_file(aside: Path, path: Path, mode: int) -> None:
    """Put a file that was written aside into its place, so that it is there even if the power fails now."""
    aside.chmod(mode)
    sync(aside)
    aside.replace(path)
    sync(path.parent)


@contextmanager
def write_folder_aside(path: Path, *, force: bool = False, kind: FolderKind | None = None) -> Iterator[Path]:
    """Yield an empty folder beside `path`, which replaces `path` when the block ends well.

    A `path` that holds something already is refused unless `force` is set and it is of the `kind` that is
    written; it is only removed once the new folder stands in its place.
    """
    refuse_occupied(path, force=force, kind=kind)
    with report_output_errors(path):
        make_folder(path.parent)
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            yield aside
            # Give all that it holds its usual mode, whatever library wrote it, and bring it to the disk.
            mask = _read_umask()
            for part in [*aside.rglob("*"), aside]:
                part.chmod((0o777 if part.is_dir() else 0o666) & ~mask)
                sync(part)
            _put_in_place(aside, path)
            sync(path.parent)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _put_in_place(new: Path, path: Path) -> None:
    """Rename `new` to `path`; what was there is at `new` then, or away where the two cannot be exchanged."""
    if not path.is_dir():
        new.replace(path)
        return
    if exchange_folders(new, path):
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
    path.replace(old)
    try:
        new.replace(path)
    except OSError:
        old.replace(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, whole or not at all."""
    with write_aside(target) as aside:
        shutil.copyfile(source, aside)


def write_text(path: Path, text: str) -> None:
    """Write `text` whole, or leave what was there."""
    with write_aside(path) as aside:
        aside.write_text(text, encoding="utf-8")


def append_line(path: Path, line: str) -> None:
    """Add a line to a file; it is on the disk when this returns, or cut off where the power failed."""
    with report_output_errors(path):
        new = not path.exists()
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        if new:
            sync(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, whole, or leave what was there."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


_RENAMED = {
    "documents_a_second": "documents_per_second",
    "labels_a_document": "labels_per_document",
    "requests_a_second": "requests_per_second",
    "texts_a_pass": "texts_per_pass",
}
"""Keys that version 0.1.0 wrote, with their names of today."""


def read_json(path: Path) -> Any:
    """Read JSON that this version or an earlier one wrote; keys have their names of today."""
    try:
        return update_keys(json.loads(path.read_text(encoding="utf-8")))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def update_keys(value: Any) -> Any:
    """Give the keys of parsed JSON, at every depth, their names of today."""
    if isinstance(value, dict):
        return {_RENAMED.get(key, key): update_keys(inner) for key, inner in value.items()}
    return [update_keys(inner) for inner in value] if isinstance(value, list) else value


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def hold_lock(path: Path, *, busy: str, seconds: float, shared: bool = False) -> Iterator[None]:
    """Hold a lock, alone or with others that share it; say `busy` if it cannot be acquired in time."""
    with closing(sqlite3.connect(path, timeout=seconds, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN" if shared else "BEGIN EXCLUSIVE")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # sharing begins with reading
        except sqlite3.OperationalError as error:
            raise WorkError(busy) from error
        yield
