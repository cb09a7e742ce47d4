"""The memory of this process: what it has, what it gives back, and how its C library keeps what is free."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

_MIB = 2**20

KEPT_HEAP = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(64 * _MIB),
    "MALLOC_MMAP_THRESHOLD_": str(32 * _MIB),
}
"""The environment of a process that does the same again and again, in the same memory.

Of its own accord, glibc has a heap for each thread, and sets these sizes by what was freed last: whether an
array is where the one before was depends on the thread, and on arrays in between. 32 and 64 MiB are the
largest that it sets.
"""

_ARENA_MAX = -8  # as in malloc.h

_SIZES = Path("/proc/self/statm")


def read_resident_memory(sizes: Path = _SIZES) -> int | None:
    """Return how many bytes of this process are in memory; None where the system does not say."""
    try:
        return int(sizes.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def release_memory() -> None:
    """Give memory that is free inside the C library back to the system, where the library can (glibc)."""
    trim = _find_function("malloc_trim")
    if trim is not None:
        trim(0)


def share_heap() -> None:
    """Let threads that start from now on take memory where those before gave some back (glibc)."""
    set_option = _find_function("mallopt")
    if set_option is not None:
        set_option(_ARENA_MAX, 1)


def _find_function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library where it has one of this name."""
    return getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None
