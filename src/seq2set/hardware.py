"""What the machine offers."""

from __future__ import annotations

import os


def core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(wanted: int | str) -> int:
    """Return the number of threads for the setting `threads`: a number, or `auto` for all cores."""
    return core_count() if isinstance(wanted, str) else wanted
