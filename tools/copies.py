"""Copies of the project, so that nothing these tools do touches the tree that people work in."""

from __future__ import annotations

import shutil
import signal
import subprocess
from contextlib import suppress
from os import killpg
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".git", ".venv*", "runs", "__pycache__", ".*_cache", ".hypothesis", ".coverage*", "*.egg-info")


def copy_project(into: Path) -> Path:
    """Copy what the tests need; the environment and trained models stay where they are."""
    return Path(shutil.copytree(ROOT, into, ignore=shutil.ignore_patterns(*LEFT_OUT)))


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a group of its own, with all that it has started."""
    with suppress(ProcessLookupError):
        killpg(process.pid, signal.SIGKILL)
    process.wait()
