"""Other versions of Python: where they are, an environment for each, and what can be checked without one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tomli

from conditions import CannotBeHadError
from copies import ROOT

PYENV = Path.home() / ".pyenv/versions"
EXTRAS = ".[dev,demo,excel,onnx,serve,track,train,tune]"
LARGE = ("torch", "lightning-fabric", "playwright", "schemathesis")
"""What an environment without torch lacks: for another Python it is a download of gigabytes."""


@dataclass(frozen=True)
class Environment:
    """Where the packages of another Python lie."""

    python: str
    has_torch: bool


def environment_of(version: str, *, install: str) -> Environment | None:
    """Return the environment with everything in it, else the one without torch, else None."""
    full, light = ROOT / f".venv-{version}", ROOT / f".venv-{version}-light"
    if install == "all" and not (full / ".ready").exists():
        _make(full, version, ["--constraint", "constraints.txt", "torch"], ["--editable", EXTRAS])
    if install == "light" and not (light / ".ready").exists():
        _make(light, version, ["--only-binary", ":all:", *_small_dependencies()])
    for folder in (full, light):
        if (folder / ".ready").exists():
            return Environment(str(folder / "bin/python"), has_torch=folder == full)
    return None


def _small_dependencies() -> list[str]:
    """Return what pyproject.toml asks for, without what is large."""
    project = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(one for name in ("dev", "demo", "excel", "onnx", "serve", "train", "tune") for one in extras[name]),
    ]
    return [one for one in wanted if not one.startswith(LARGE)]


def _make(folder: Path, version: str, *wanted: Sequence[str]) -> None:
    """Make an environment with the newest versions that it may have: the pinned ones are for one Python."""
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet"]
    try:
        subprocess.run([find_interpreter(version), "-m", "venv", str(folder)], check=True)
        for words in wanted:
            subprocess.run([*pip, *words], cwd=ROOT, check=True)
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
    """Return what is wrong with the sources for another Python; nothing where all is well."""
    script = "import pathlib; [compile(p.read_bytes(), p, 'exec') for p in pathlib.Path('src').rglob('*.py')]"
    steps = {
        "it does not compile": [find_interpreter(version), "-W", "error", "-c", script],
        "types": [sys.executable, "-m", "mypy", "--python-version", version],
    }
    for step, command in steps.items():
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            return f"{step}: {' '.join(last)}"
    return ""
