"""What the machine offers."""

from __future__ import annotations

import os


def core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(wanted: int | str) -> int:
    """Return the threads for the setting `threads`: a number, or `auto` for this process's share."""
    if not isinstance(wanted, str):
        return wanted
    return max(1, core_count() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def process_rank() -> int:
    """Return which of the processes that torchrun started this is; 0 is the one that writes files."""
    return int(os.environ.get("RANK", "0"))
