"""What the machine offers.

What a cell was measured on: versions and hardware, without which a number of seconds says nothing.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import seq2set


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_threads(wanted: int | str) -> int:
    """Return the threads for the setting `threads`: a number, or `auto` for this process's share."""
    if not isinstance(wanted, str):
        return wanted
    return max(1, count_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def get_rank() -> int:
    """Return which of the processes that torchrun started this is; 0 is the one that writes files."""
    return int(os.environ.get("RANK", "0"))


_CPU_FACTS = Path("/proc/cpuinfo")


def describe_machine(threads: int | str) -> dict[str, Any]:
    """Return what is worth knowing about this machine, for work with the setting `threads`."""
    return {
        "seq2set": seq2set.__version__,
        "python": platform.python_version(),
        "torch": version("torch"),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": read_cpu_name(),
        "cores": os.cpu_count(),
        "threads": count_threads(threads),
    }


def read_cpu_name(facts: Path = _CPU_FACTS) -> str:
    """Return the processor's name, or what kind it is where the name cannot be had."""
    try:
        lines = facts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, [*names, platform.processor(), platform.machine()]), "unknown")
