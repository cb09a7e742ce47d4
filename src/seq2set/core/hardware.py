"""The machine: cores and threads, the share of a process, its memory, and what to record beside seconds."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import seq2set

CORES = "SEQ2SET_CORES"
"""The variable that says how many cores a process may use."""


def count_cores() -> int:
    """Return how many cores this process may use; a cluster says so where it gives a process fewer."""
    if CORES in os.environ:
        return int(os.environ[CORES])
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_threads(wanted: int | str) -> int:
    """Return the threads for the setting `threads`: a number, or `auto` for this process's share."""
    if not isinstance(wanted, str):
        return wanted
    return max(1, count_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def count_processes(workers: int | str, threads: int | str) -> int:
    """Return how many processes fit linear classifiers side by side, for the settings of these names."""
    return count_threads(threads) if isinstance(workers, str) else workers


MEMORY_FILES = (
    Path("/proc/meminfo"),
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory.current"),
)
"""Where Linux says how much memory there is: the machine's, and the limit and the use of a container"""


def read_free_memory() -> int | None:
    """Return how many bytes of memory are free for this process; None where the system does not say."""
    machine, limit, used = MEMORY_FILES
    try:
        rows = (row.split() for row in machine.read_text().splitlines())
        free = next(int(row[1]) * 1024 for row in rows if row[0] == "MemAvailable:")
    except (OSError, StopIteration):
        return None
    try:
        return min(free, int(limit.read_text()) - int(used.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit: `max`
        return free


class ThreadLimit:
    """Threads of torch and OpenMP in this process: set when it is made, as before when its block ends."""

    def __init__(self, threads: int):
        self.threads = threads
        torch: Any = sys.modules.get("torch")  # not loaded for the sake of a limit
        self._before = torch.get_num_threads() if torch else None
        if torch:
            torch.set_num_threads(threads)
        else:
            os.environ["OMP_NUM_THREADS"] = str(threads)  # read when torch is loaded

    def __enter__(self) -> ThreadLimit:
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            sys.modules["torch"].set_num_threads(self._before)


def limit_threads(wanted: int | str = 1) -> ThreadLimit:
    """Limit the threads of this process: for good, or for the block of a `with`.

    `auto` is one: several stall each other as soon as another process wants a core.
    """
    return ThreadLimit(1 if isinstance(wanted, str) else wanted)


def share_cores(slot: int, slots: int) -> list[int]:
    """Return the cores for one of several processes: an even share, and at least one; empty if unknown."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    cores = sorted(os.sched_getaffinity(0))
    return cores[slot::slots] or [cores[slot % len(cores)]]


def keep_to_cores(cores: list[int]) -> None:
    """Keep this process to some cores, where the system can, so that processes do not crowd each other."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def get_rank() -> int:
    """Return which of the processes that torchrun started this is; 0 is the one that writes files."""
    return int(os.environ.get("RANK", "0"))


def describe_machine(threads: int | str) -> dict[str, Any]:
    """Return what is worth knowing about this machine, for work with the setting `threads`."""
    from importlib.metadata import version  # which loads what reads mails, for files of the same form

    return {
        "seq2set": seq2set.__version__,
        "python": platform.python_version(),
        "torch": version("torch"),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": read_cpu_name(),
        "cores": os.cpu_count(),
        "threads": count_threads(threads),
    }


def read_cpu_name(facts: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name, or its kind where the name is unknown."""
    try:
        lines = facts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, [*names, platform.processor(), platform.machine()]), "unknown")


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


def read_resident_memory(sizes: Path = Path("/proc/self/statm")) -> int | None:
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
