"""Feed made-up inputs to what reads strangers' bytes, and keep what breaks it.

    python tools/fuzz.py                          every target, ten minutes in all
    python tools/fuzz.py --seconds 60 csv http    these, for a minute in all

Inputs that broke something stay in runs/fuzz/examples and are tried first the next time; runs/fuzz/faults has
the report of each, and every fault becomes a test when it is mended. An input that ends the process stays in
runs/fuzz/tried, and the next run says so. Exit code 0 only where nothing broke.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from copies import ROOT
from fuzz_folders import FOLDERS
from fuzz_targets import TARGETS as READERS
from seq2set.benchmarks.serving.serve import ServerProcess, start_server

TARGETS = {**READERS, **FOLDERS}
FOLDER = ROOT / "runs/fuzz"
BATCH = 20
"""Inputs between two looks at the clock."""


@contextlib.contextmanager
def run_server() -> Iterator[ServerProcess]:
    """Serve a small model, trained at the first time."""
    model = FOLDER / "model"
    if not (model / "model/manifest.json").is_file():
        command = ["train", "--model", "br", "--data", str(ROOT / "docs/examples/tickets.csv")]
        command += ["--out", str(model), "--force"]
        subprocess.run([sys.executable, "-m", "seq2set", *command], check=True, stdout=subprocess.DEVNULL)
    database = FOLDER / "feedback.sqlite"
    for old in FOLDER.glob("feedback.sqlite*"):
        old.unlink()
    with start_server(model, "--feedback", str(database), "--workers", "1", "--window-ms", "0") as server:
        yield server


def find_fatal(name: str) -> str | None:
    """Return the input at which an earlier run ended, and move it to the faults."""
    tried, kept = FOLDER / "tried" / f"{name}.txt", FOLDER / "faults" / f"{name}-fatal.txt"
    if not tried.is_file():
        return None
    kept.parent.mkdir(parents=True, exist_ok=True)
    return tried.replace(kept).read_text("utf-8")


@contextlib.contextmanager
def note_input(name: str, case: Any) -> Iterator[None]:
    """Keep an input on disk while it is tried: it may end the process."""
    tried = FOLDER / "tried" / f"{name}.txt"
    tried.parent.mkdir(parents=True, exist_ok=True)
    tried.write_text(repr(case), "utf-8", errors="backslashreplace")
    try:
        yield
    finally:
        tried.unlink()


def fuzz_target(name: str, arguments: tuple[Any, ...], seconds: float) -> int:
    """Try inputs until the time is over, and return how many; what breaks is raised."""
    cases, until = 0, time.monotonic() + seconds
    target, database = TARGETS[name], DirectoryBasedExampleDatabase(FOLDER / "examples" / name)
    while not cases or time.monotonic() < until:

        @settings(
            max_examples=BATCH,
            deadline=None,
            database=database,
            print_blob=True,
            verbosity=Verbosity.quiet,
            phases=[Phase.reuse, Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(target.inputs)
        def check(case: Any) -> None:
            nonlocal cases
            cases += 1
            with note_input(name, case):
                target.check(*arguments, case)

        check()
    return cases


def fuzz_all(names: list[str], seconds: float) -> dict[str, str]:
    """Fuzz targets one after the other, print a line for each, and return the faults."""
    faults: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        needed = any(TARGETS[name].needs_server for name in names)
        server = stack.enter_context(run_server()) if needed else None
        for name in names:
            arguments = (server,) if TARGETS[name].needs_server else ()
            if (fatal := find_fatal(name)) is not None:
                faults[name] = f"an earlier run ended while it tried this: {fatal}"
                print(f"{name:14} ended an earlier run", flush=True)
            try:
                cases = fuzz_target(name, arguments, seconds / len(names))
                print(f"{name:14} {cases:8,} inputs, nothing broke", flush=True)
            except Exception:
                faults[name] = traceback.format_exc()
                print(f"{name:14} broke: {faults[name].strip().splitlines()[-1][:200]}", flush=True)
        if server is not None and server.process.poll() is not None:
            faults["server"] = f"the server ended with code {server.process.returncode}"
    return faults


def main() -> int:
    """Fuzz what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"targets: {', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=float, default=600.0, help="for how long in all [600]")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - set(TARGETS)):
        parser.error(f"no target is called {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    faults = fuzz_all(arguments.names or list(TARGETS), arguments.seconds)
    for name, report in faults.items():
        path = FOLDER / "faults" / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(report, "utf-8", errors="replace")
        print(f"see {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
