"""Other versions of Python: where they are, an environment for each, and what can be checked without one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from conditions import CannotBeHadError
from copies import ROOT

PYENV = Path.home() / ".pyenv/versions"
EXTRAS = ".[dev,demo,serve,track,tune]"


def environment_of(version: str, *, install: bool) -> str | None:
    """Return the interpreter of an environment with everything in it; None where there is none."""
    folder = ROOT / f".venv-{version}"
    python = folder / "bin/python"
    if not (folder / ".ready").exists() and install:
        _install(find_interpreter(version), folder)
    return str(python) if (folder / ".ready").exists() else None


def _install(interpreter: str, folder: Path) -> None:
    """Make an environment with the newest versions that it may have: the pinned ones are for one Python."""
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet"]
    try:
        subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
        subprocess.run([*pip, "--constraint", "constraints.txt", "torch"], cwd=ROOT, check=True)
        subprocess.run([*pip, "--editable", EXTRAS], cwd=ROOT, check=True)
    except subprocess.CalledProcessError as error:
        raise CannotBeHadError(f"{' '.join(error.cmd)} failed") from error
    (folder / ".ready").touch()


def find_interpreter(version: str) -> str:
    """Find an interpreter of pyenv's or on the path."""
    found = sorted(PYENV.glob(f"{version}.*/bin/python{version}"))
    name = str(found[-1]) if found else shutil.which(f"python{version}")
    if name is None:
        raise CannotBeHadError(f"there is no Python {version} on this machine")
    return name


def check_sources(version: str) -> str:
    """Return what another Python makes of the sources, without their dependencies."""
    interpreter = find_interpreter(version)
    script = "import pathlib; [compile(p.read_bytes(), p, 'exec') for p in pathlib.Path('src').rglob('*.py')]"
    steps = {
        "compiles": [interpreter, "-W", "error", "-c", script],
        "types": [sys.executable, "-m", "mypy", "--python-version", version],
    }
    for step, command in steps.items():
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            return f"red: {step}: {' '.join(last)}"
    return f"tests cannot be had here (no .venv-{version}); it compiles src, and mypy passes for {version}"
