"""What a power cut must not undo: files and folders are brought to the disk, folders change places at once.

A file that was written is in memory at first, and so is its name in its folder. Each is safe only once it was
synced: the file by its content, the folder by the names that it holds.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

_CANNOT = (errno.EINVAL, errno.ENOTSUP, errno.EROFS)
"""What file systems say that have nothing to sync, such as some in memory or behind a network"""

_EXCHANGE = 2
_HERE = -100


def sync(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # which has no such call for folders
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder and those above it that are missing, and bring their names to the disk."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for one in reversed(missing):
        sync(one.parent)


def exchange_folders(one: Path, other: Path) -> bool:
    """Let two folders change their names in one step; return False where the system cannot.

    Between two renames there would be a moment at which neither stands in the place.
    """
    rename = _find_rename()
    if rename is None:
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


@cache
def _find_rename() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
