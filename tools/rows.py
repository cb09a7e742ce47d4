"""One row of the table of hostile conditions: the tests, run once under one condition."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from conditions import CannotBeHadError, Condition, Place
from copies import ROOT, copy_project, end_group
from pythons import Environment, check_sources, environment_of

CHECKED = "it compiles src, and mypy passes"


@dataclass
class Row:
    """What came out."""

    name: str
    what: str
    state: str
    verdict: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    minutes: float = 0.0
    red_tests: list[str] = field(default_factory=list)

    @property
    def is_red(self) -> bool:
        """Say whether something is wrong, in contrast to what this machine cannot do."""
        return self.verdict.startswith("red")


def state_of_project() -> str:
    """Return a digest of all that the tests read, so that a stored row is known to be of today."""
    digest = hashlib.sha256()
    for path in sorted(path for part in ("src", "tests", "pyproject.toml") for path in _files(ROOT / part)):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    yield from (one for one in path.rglob("*") if one.is_file() and "__pycache__" not in one.parts)


def run_row(
    condition: Condition, options: Sequence[str], folder: Path, logs: Path, state: str, *, install: str
) -> Row:
    """Run the tests in a copy of the project in `folder`; the log goes into `logs`."""
    row, began = Row(condition.name, condition.what, state, ""), time.monotonic()
    logs.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # whoever runs the tests may enter
    place = Place(copy_project(folder / "p"), folder / "s")
    place.scratch.mkdir()
    try:
        if condition.python and (wrong := check_sources(condition.python)):
            row.verdict = f"red: {wrong}"
        elif environment := _find_environment(condition, install):
            _run_tests(row, condition, environment, options, place, logs / f"{condition.name}.log")
        else:
            row.verdict = f"{CHECKED}; tests cannot be had here (no .venv-{condition.python})"
    except CannotBeHadError as error:
        row.verdict = f"cannot be had here: {error}"
    row.minutes = round((time.monotonic() - began) / 60, 2)
    return row


def _find_environment(condition: Condition, install: str) -> Environment | None:
    here = Environment(sys.executable, has_torch=True)
    return environment_of(condition.python, install=install) if condition.python else here


def _run_tests(
    row: Row, condition: Condition, environment: Environment, options: Sequence[str], place: Place, path: Path
) -> None:
    """Run pytest under the condition and put what came out into the row."""
    command = _command(environment, options, place)
    with _beside(condition.busy), path.open("wb") as log:
        whole = [*condition.before(place), *command]
        code = _watch(condition.name, whole, place, _environment(condition, place), log.fileno(), path)
    _read_report(row, place.scratch / "report.xml", code)
    if not environment.has_torch and not row.is_red:
        row.verdict += f" without torch; {CHECKED}"


def _command(environment: Environment, options: Sequence[str], place: Place) -> list[str]:
    own = ["--numprocesses", "auto", "-v", "-p", "no:cacheprovider"]
    own += ["--basetemp", str(place.scratch / "t"), "--junit-xml", str(place.scratch / "report.xml")]
    own += [] if environment.has_torch else ["-p", "without_torch"]
    return [environment.python, "-m", "pytest", *own, *options]


def _environment(condition: Condition, place: Place) -> dict[str, str]:
    """Return the environment; no cache, home or temporary folder is shared with another row."""
    own = {"HOME": "home", "XDG_CACHE_HOME": "cache", "MPLCONFIGDIR": "mpl", "TMPDIR": "tmp"}
    own["HYPOTHESIS_STORAGE_DIRECTORY"] = "hypothesis"
    for name in own.values():
        path = place.scratch / name
        path.mkdir(exist_ok=True)
        shutil.chown(path, place.scratch.stat().st_uid, place.scratch.stat().st_gid)
    folders = {key: str(place.scratch / name) for key, name in own.items()}
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("SEQ2SET_", "LC_", "LANG"))
    }
    paths = os.pathsep.join(str(place.tree / name) for name in ("src", "tools"))
    source = {"PYTHONPATH": paths, "LC_ALL": "C.UTF-8"}
    return kept | folders | source | condition.environment


@contextmanager
def _beside(busy: int) -> Iterator[None]:
    """Keep so many processes busy for as long as the block runs."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _watch(
    name: str, command: Sequence[str], place: Place, environment: dict[str, str], output: int, log: Path
) -> int:
    """Run a command to its end, say from time to time how far it is, and return its code."""
    process = subprocess.Popen(
        command, cwd=place.tree, env=environment, stdout=output, stderr=output, start_new_session=True
    )
    began, said = time.monotonic(), ""
    try:
        while process.poll() is None:
            time.sleep(1)
            text = log.read_text("utf-8", "replace")
            percent = (re.findall(r"\[ *(\d+)%\]", text) or ["0"])[-1]
            red = len(re.findall(r"\] (?:FAILED|ERROR) ", text))
            minutes = (time.monotonic() - began) / 60
            if sys.stdout.isatty():
                print(f"\r{name}: {percent} %, {red} red, {minutes:.1f} min ", end="", flush=True)
            elif (now := f"{name}: {percent} %, {red} red") != said and int(percent) % 10 == 0:
                said = now
                print(f"{now}, {minutes:.1f} min", flush=True)
    finally:
        end_group(process)
        if sys.stdout.isatty():
            print("\r\033[K", end="")
    return process.returncode


def _read_report(row: Row, report: Path, code: int) -> None:
    """Put pytest's own count into the row."""
    if not report.is_file():
        row.verdict = f"red: pytest gave up with code {code}; see the log"
        return
    cases = ElementTree.parse(report).getroot().iter("testcase")  # noqa: S314 (written a moment ago)
    for case in cases:
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            row.failed += 1
            row.red_tests.append(f"{case.get('classname')}::{case.get('name')}")
        elif "skipped" in kinds:
            row.skipped += 1
        else:
            row.passed += 1
    row.verdict = "green" if code == 0 else f"red: pytest ended with code {code}"
