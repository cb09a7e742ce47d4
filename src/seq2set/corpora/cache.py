"""The cache of prepared corpora: where it is, what is in it, and what leaves it again.

A known corpus lies there under its name, a copy of plain files under a name that ends in a digest of their
content and of how they are read. Every change of a file makes another copy, so the oldest leave when one more
is made. All of them can be made again from the files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import Seq2SetError
from seq2set.core.files import compute_sha256, write_text

VARIABLE = "SEQ2SET_CACHE"
"""The environment variable that names another cache folder."""

KEPT = 5
"""Maximum copies of a file."""

IN_USE = 3600
"""Seconds for which a copy stays after it was opened: another process may read it."""

_DIGEST = re.compile(r"-[0-9a-f]{16}$")


def get_cache_folder() -> Path:
    """Return the cache folder: `$SEQ2SET_CACHE`, or `seq2set` in the user's own cache folder."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seq2set"


def locate_cached(name: str) -> Path:
    """Return the folder that a prepared corpus has in the cache, whether it is there or not."""
    return get_cache_folder() / "corpora" / name


class CachedFolder(NamedTuple):
    """Something in the cache."""

    path: Path
    is_copy: bool
    """Whether it can be made again from what is on this machine, or was left behind half made"""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.path.name

    @property
    def bytes(self) -> int:
        """How much room it takes."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(file.stat().st_size for file in files if file.is_file())


def list_cached() -> list[CachedFolder]:
    """Return all that is in the cache, by name."""
    found: list[CachedFolder] = []
    for part in sorted(get_cache_folder().glob("*")):
        if part.name == _CHECKED:
            continue
        fetched = part.name in ("corpora", "encoders")
        for path in sorted(part.iterdir()) if part.is_dir() else [part]:
            made_again = not fetched or path.name.startswith(".") or bool(_DIGEST.search(path.name))
            found.append(CachedFolder(path, made_again))
    return found


def clean_cache(names: Collection[str] = (), *, everything: bool = False) -> list[CachedFolder]:
    """Delete copies of files and vectors of texts, or what is named, or everything; return what is gone."""
    chosen = [one for one in list_cached() if everything or (one.name in names if names else one.is_copy)]
    for one in chosen:
        _delete(one.path)
    _delete(get_cache_folder() / _CHECKED)
    return chosen


def mark_used(folder: Path) -> None:
    """Note that a copy was opened just now, and delete older ones of the same file."""
    os.utime(folder)
    pattern = re.compile(re.escape(_DIGEST.sub("", folder.name)) + _DIGEST.pattern)
    copies = [path for path in folder.parent.iterdir() if pattern.fullmatch(path.name)]
    by_age = sorted(copies, key=lambda path: -path.stat().st_mtime)
    for path in by_age[KEPT:]:
        if path.stat().st_mtime < time.time() - IN_USE:
            _delete(path)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)  # another process may delete it too
    else:
        path.unlink(missing_ok=True)


_CHECKED = "checked.json"
_MOST_CHECKED = 500
_SETTLED = 2.0
"""Seconds within which a file that changed may change again without another time of change."""


def compute_sha256_once(path: Path, check: Callable[[Path], None] | None = None) -> str:
    """Return the SHA-256 of a file; it is read again only where its size, time of change or inode differ.

    With it goes a check of what it holds, which raises where something is wrong.
    """
    status, name = path.stat(), str(path.absolute())
    seen = [status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino]
    entry = _read_checked().get(name)
    if isinstance(entry, list) and entry[:-1] == seen:
        return str(entry[-1])
    digest = compute_sha256(path)
    if check is not None:
        check(path)
    if status.st_mtime < time.time() - _SETTLED:
        _note_checked(name, [*seen, digest])
    return digest


def _read_checked() -> dict[str, Any]:
    try:
        known = json.loads((get_cache_folder() / _CHECKED).read_text(encoding="utf-8"))
    except (OSError, RuntimeError, ValueError):  # none yet, no home folder, or damaged
        return {}
    return known if isinstance(known, dict) else {}


def _note_checked(name: str, entry: list[Any]) -> None:
    known = _read_checked()
    known.pop(name, None)
    kept = dict([*known.items(), (name, entry)][-_MOST_CHECKED:])
    try:
        write_text(get_cache_folder() / _CHECKED, json.dumps(kept))
    except (OSError, RuntimeError, Seq2SetError):
        return  # a cache that cannot be written costs time, and nothing else
