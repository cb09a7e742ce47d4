"""What a cell was measured on: versions and hardware, without which a number of seconds says nothing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import seq2set
from seq2set.hardware import thread_count

_CPU_FACTS = Path("/proc/cpuinfo")


def machine_facts(threads: int | str) -> dict[str, Any]:
    """Return what is worth knowing about this machine, for work with the setting `threads`."""
    return {
        "seq2set": seq2set.__version__,
        "python": platform.python_version(),
        "torch": version("torch"),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "threads": thread_count(threads),
    }


def cpu_name(facts: Path = _CPU_FACTS) -> str:
    """Return the processor's name, or what kind it is where the name cannot be had."""
    try:
        lines = facts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, [*names, platform.processor(), platform.machine()]), "unknown")
