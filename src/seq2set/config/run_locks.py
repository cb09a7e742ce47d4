"""One process at a time works in a run folder, on whatever machine and file system.

The lock is a file in the folder that says who holds it: host, process, when it began. The holder touches it
every half minute. Whoever finds one decides whether its holder is still there:

- on the same machine since the same start of it, the process with this number and this beginning must run; a
  number that was given to another process, or a restart of the machine, makes the lock stale;
- elsewhere (another host behind a network file system, another container), it is stale once nobody touched it
  for five minutes, by the clock of the file system.

A stale lock is taken over. Its former holder, if it was only asleep, sees that before it writes again, and
stops.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.disk import make_folder
from seq2set.core.errors import BusyError, WorkError
from seq2set.core.files import report_output_errors
from seq2set.core.outputs import refuse_occupied

LOCK = ".lock"
BEAT = 30.0
"""Seconds between two touches"""
SILENCE = 300.0
"""After this number of seconds without one a holder elsewhere is taken to be gone"""

_held: dict[Path, str] = {}
"""The locks of this process, by their files, with the words that mark them"""


@contextmanager
def hold_run(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder; say who holds it where somebody does."""
    path = folder.absolute() / LOCK
    if path in _held:  # by a caller further up
        yield
        return
    refuse_occupied(folder, force=True)  # only what is no folder, or lies in a model
    made = not folder.exists()
    with report_output_errors(folder):
        make_folder(folder)
        _held[path] = _acquire(path)
    ended = threading.Event()
    beat = threading.Thread(target=_keep_alive, args=(path, ended), daemon=True)
    beat.start()
    try:
        yield
    finally:
        ended.set()
        beat.join()
        own = _held.pop(path)
        if _read(path).get("mark") == own:
            path.unlink(missing_ok=True)
        if made:
            with suppress(OSError):  # where nothing came of it, not even the folder stays
                folder.rmdir()


class Holder(NamedTuple):
    """The process that works in a run folder."""

    process: Any
    host: Any
    since: Any

    def __str__(self) -> str:
        return f"process {self.process} on {self.host} (since {self.since})"


def find_holder(folder: Path) -> Holder | None:
    """Return the other process that works in a run folder, or None where none does."""
    path = folder.absolute() / LOCK
    if path in _held or not path.exists():
        return None
    try:
        found, age = _read(path), _measure_age(path)
    except OSError:  # it has just ended, and its folder is gone
        return None
    if not path.exists() or not _is_there(found, age):
        return None
    return Holder(found.get("process"), found.get("host"), found.get("since"))


def check_lock(folder: Path) -> None:
    """Refuse to write where this process held the lock and another one took it over."""
    path = folder.absolute() / LOCK
    own = _held.get(path)
    if own is not None and _read(path).get("mark") != own:
        raise WorkError(
            f"{folder} was taken over by another process while this one was not heard of; it stops here"
        )


def _acquire(path: Path) -> str:
    mark = uuid.uuid4().hex
    content = json.dumps({**_describe_self(), "mark": mark})
    while not _create(path, content):
        found, age = _read(path), _measure_age(path)
        if path.exists() and _is_there(found, age):
            process, host, since = (found.get(name) for name in ("process", "host", "since"))
            raise BusyError(
                f"{path.parent} is in use by process {process} on {host}, which began {since} and was heard "
                f"of {max(0, round(age))} s ago; wait until it ends, or name another folder (a lock that "
                f"nobody touches for {SILENCE:.0f} s is taken over)"
            )
        _take_over(path, found)
    return mark


def _create(path: Path, content: str) -> bool:
    """Make the file with its content in one step, which fails where there is one."""
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    aside.write_text(content, encoding="utf-8")
    try:
        os.link(aside, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            with path.open("x", encoding="utf-8") as stream:
                stream.write(content)
        except FileExistsError:
            return False
    finally:
        aside.unlink()
    return True


def _take_over(path: Path, stale: dict[str, Any]) -> None:
    """Move a stale lock away; one that somebody else has put there in the meantime goes back."""
    moved = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        path.rename(moved)
    except FileNotFoundError:
        return
    if _read(moved) != stale:
        with suppress(OSError):
            os.link(moved, path)
    moved.unlink()


def _read(path: Path) -> dict[str, Any]:
    """Return what a lock says; nothing where it is gone or was cut off when it was written."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _measure_age(path: Path) -> float:
    """Return for how many seconds a file was not touched, both times by the file system's own clock."""
    probe = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    probe.touch()
    try:
        return probe.stat().st_mtime - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
    finally:
        probe.unlink()


def _is_there(found: dict[str, Any], age: float) -> bool:
    own = _describe_self()
    if found.get("host") == own["host"] and found.get("space") == own["space"]:
        alive = found.get("boot") == own["boot"] and _find_beginning(found.get("process")) is not None
        return alive and _find_beginning(found.get("process")) == found.get("beginning")
    return age < SILENCE


def _describe_self() -> dict[str, Any]:
    process = os.getpid()
    return {
        "host": socket.gethostname(),
        "boot": _read_line("/proc/sys/kernel/random/boot_id"),
        "space": _find_space(),
        "process": process,
        "beginning": _find_beginning(process),
        "since": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
    }


def _find_space() -> str:
    """Return which processes a number means: containers on one host count their own."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _find_beginning(process: Any) -> str | None:
    """Return what tells a process from others that had its number before; None where it does not run."""
    if type(process) is not int or process < 1:
        return None
    if fields := _read_line(f"/proc/{process}/stat").rpartition(")")[2].split():
        return None if fields[0] in "ZX" else fields[19]
    if _has_proc():
        return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return ""  # somebody else's, or a system that does not say
    return ""


def _has_proc() -> bool:
    return Path("/proc/self").exists()


def _read_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _keep_alive(path: Path, ended: threading.Event) -> None:
    while not ended.wait(BEAT):
        if _read(path).get("mark") == _held.get(path):
            with suppress(OSError):
                os.utime(path)
