"""A disk whose power fails: what was written is recorded, and what would be left is laid out for each moment.

Every call that brings something to the disk or changes a name (`fsync`, `replace`, `mkdir`, `unlink`, an
exchange of two folders) is a moment. Of each file the disk keeps the content of its last sync, of each folder
the names that it held at its own; whatever happened since may be there or not. So each moment has four ends:
with or without the names since, each with the content since or without it.
"""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import seq2set.core.disk as disk
import seq2set.core.files as files

CALLS = ("fsync", "replace", "rename", "mkdir", "unlink", "rmdir")


class Kept(NamedTuple):
    """What a file or folder holds: content, or the inodes of names."""

    content: bytes | None
    names: dict[str, int]


Tree = dict[int, Kept]
"""Files and folders by their inodes"""


class End(NamedTuple):
    """A tree that a power cut may leave."""

    root: int
    tree: Tree
    after: str

    def lay_out(self, path: Path) -> Path:
        """Write it down, in the place of what was laid out before."""
        shutil.rmtree(path, ignore_errors=True)
        self._write(self.root, path)
        return path

    def _write(self, inode: int, path: Path) -> None:
        kept = self.tree.get(inode, Kept(b"", {}))
        if kept.content is not None:
            path.write_bytes(kept.content)
            return
        path.mkdir()
        for name, inner in kept.names.items():
            self._write(inner, path / name)


class Recorder:
    """Looks at a folder at each moment."""

    def __init__(self, root: Path):
        self.root, self.ends, self.syncs = root, list[End](), 0
        self.there: set[int] = set()
        self.safe: Tree = {}
        self.safe = self._look()  # what was there before is on the disk

    def note(self, after: str) -> None:
        """Remember what could be left now."""
        now, inode = self._look(), self.root.stat().st_ino
        for names in (True, False):
            for content in (True, False):
                tree = dict(now)
                for one, kept in now.items():
                    sure = self.safe.get(one, Kept(None if kept.content is None else b"", {}))
                    is_old = not (names if kept.content is None else content)
                    tree[one] = sure if is_old else kept
                # A folder's old names may stand for what is deleted since.
                self.ends.append(End(inode, self.safe | tree, f"{after}, names {names}, content {content}"))

    def settle(self, handle: int) -> None:
        """Take what a handle stands for to be safe from now on."""
        self.syncs += 1
        inode = os.fstat(handle).st_ino
        now = self._look()
        if inode in now:
            self.safe[inode] = now[inode]

    def _look(self) -> Tree:
        found: Tree = {}
        for path in [self.root, *self.root.rglob("*")]:
            if path.is_dir():
                names = {one.name: one.stat().st_ino for one in path.iterdir()}
                found[path.stat().st_ino] = Kept(None, names)
            else:
                found[path.stat().st_ino] = Kept(path.read_bytes(), {})
        for fresh in found.keys() - self.there:  # it may have the inode of a file that was deleted
            self.safe.pop(fresh, None)
        self.there = set(found)
        return found


@contextmanager
def record(root: Path) -> Iterator[Recorder]:
    """Record what happens in a folder; nothing else of the process may write there at the same time."""
    recorder = Recorder(root)

    def watch(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            if name == "fsync":
                recorder.settle(arguments[0])
            result = call(*arguments, **options)
            recorder.note(f"{name} {arguments[0]}")
            return result

        return watched

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            watched = watch(name, getattr(os, name))
            patch.setattr(os, name, watched)
            if hasattr(pathlib, "_NormalAccessor"):  # Python 3.10's paths keep the calls of their own
                patch.setattr(pathlib._NormalAccessor, name, staticmethod(watched), raising=False)
        patch.setattr(files, "exchange_folders", watch("exchange", disk.exchange_folders))
        yield recorder
