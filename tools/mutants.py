"""Ask whether the tests would notice a mistake made in a copy of the package.

    python tools/mutants.py                  all of tools/mutants.json
    python tools/mutants.py holm eos         those whose names contain one of the words
    python tools/mutants.py --jobs 2 --again

A mutant is a name, what would be wrong, a file under src/seq2set, the text that stands there once, the
text in its place, and the tests that must fail. Verdicts: "noticed"; "not noticed"; "timed out"; "cannot
apply" (the text is not there once, so the list is out of date); "cannot run" (pytest itself gave up, or the
mutant is no program: a module, a fixture or a name broke, which says nothing about the mistake).
What was noticed is stored in runs/mutants.json and not run again until its file or its tests change.
Exit code 0 only where all were noticed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from copies import ROOT, copy_project, end_group

LIST = ROOT / "tools/mutants.json"
STORE = ROOT / "runs/mutants.json"
NOTICED = "noticed"
BROKEN = re.compile(r"E +(Attribute|Import|ModuleNotFound|Name|Syntax|Type|UnboundLocal)Error: ")
"""What a change gives that does not fit the code around it, whatever the tests ask"""
RUNNING: set[subprocess.Popen[bytes]] = set()
"""The tests that run now"""


@dataclass(frozen=True)
class Mutant:
    """One mistake that somebody could make."""

    name: str
    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply_to(self, text: str) -> str | None:
        """Return a text with the mistake in it; None where the old text does not stand there once."""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None

    def digest(self) -> str:
        """Return what the verdict depends on: the mistake, the file it is made in, and the tests."""
        whole = hashlib.sha256(json.dumps(asdict(self)).encode())
        whole.update((ROOT / "src/seq2set" / self.file).read_bytes())
        for path in sorted(_test_files(self.tests)):
            whole.update(path.read_bytes())
        return whole.hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant."""

    name: str
    verdict: str
    seconds: float
    by: str
    digest: str


def read_mutants(path: Path = LIST) -> list[Mutant]:
    """Read the list."""
    return [Mutant(**row | {"tests": tuple(row["tests"])}) for row in json.loads(path.read_text("utf-8"))]


def _test_files(tests: Iterable[str]) -> Iterator[Path]:
    for test in tests:
        path = ROOT / test.partition("::")[0]
        yield from path.rglob("*.py") if path.is_dir() else [path]


def run_tests(tree: Path, tests: Iterable[str], limit: float) -> tuple[int | None, str]:
    """Run tests of a copy up to the first failure; return it with pytest's code, None past the limit."""
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",  # a file of the same size, changed within a second, would go unseen
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(tree / ".hypothesis"),
    }
    # A warning is not what should give a mistake away.
    options = ["-q", "-x", "-p", "no:cacheprovider", "-W", "ignore", "--basetemp", str(tree / ".basetemp")]
    command = [sys.executable, "-m", "pytest", *options, *dict.fromkeys(tests)]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, cwd=tree, env=environment, stdout=said, stderr=said, start_new_session=True
        )
        RUNNING.add(process)
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            RUNNING.discard(process)
            end_group(process)
        said.seek(0)
        lines = said.read().decode("utf-8", "replace").splitlines()
    found = next((line for line in lines if line.startswith(("FAILED ", "ERROR "))), "")
    if code == 1 and (broken := next(filter(BROKEN.match, lines), "")):
        return code, f"ERROR {broken[1:].strip()}"
    return code, found.partition(" - ")[0] or (lines[-1] if lines and code else "")


def try_mutant(mutant: Mutant, tree: Path, limit: float) -> Outcome:
    """Make the mistake in a copy, run its tests, and put the copy right again."""
    path = tree / "src/seq2set" / mutant.file
    before, began = path.read_text("utf-8"), time.monotonic()
    after = mutant.apply_to(before)
    if after is None:
        return Outcome(mutant.name, "cannot apply", 0.0, f"src/seq2set/{mutant.file}", "")
    path.write_text(after, "utf-8")
    try:
        code, by = run_tests(tree, mutant.tests, limit)
    finally:
        path.write_text(before, "utf-8")
    verdict = {0: "not noticed", 1: NOTICED, None: "timed out"}.get(code, "cannot run")
    if by.startswith("ERROR "):
        verdict = "cannot run"
    return Outcome(mutant.name, verdict, round(time.monotonic() - began, 1), by, mutant.digest())


def try_all(mutants: list[Mutant], jobs: int, limit: float, folder: Path) -> Iterator[Outcome]:
    """Try mutants, a copy of the project for each job."""
    trees: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        trees.put(copy_project(folder / f"copy{number}"))

    def work(mutant: Mutant) -> Outcome:
        tree = trees.get()
        try:
            return try_mutant(mutant, tree, limit)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(jobs) as threads:
        waiting = [threads.submit(work, mutant) for mutant in mutants]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:  # after Ctrl-C too: nothing is waited for
            for future in waiting:
                future.cancel()
            for process in list(RUNNING):
                end_group(process)


def read_store() -> dict[str, Outcome]:
    """Return the verdicts of earlier runs by the mutants' names."""
    rows = json.loads(STORE.read_text("utf-8")) if STORE.is_file() else []
    return {row["name"]: Outcome(**row) for row in rows}


def write_store(known: dict[str, Outcome]) -> None:
    """Store verdicts whole."""
    STORE.parent.mkdir(parents=True, exist_ok=True)
    aside = STORE.with_suffix(".new")
    aside.write_text(json.dumps([asdict(one) for one in known.values()], indent=1), "utf-8")
    aside.replace(STORE)


def run(chosen: list[Mutant], arguments: argparse.Namespace) -> list[Outcome]:
    """Try what is not known yet, print each verdict as it comes, and return all."""
    known = {} if arguments.again else read_store()
    settled = {one.name for one in chosen if _settled(one, known.get(one.name))}
    outcomes = [known[one.name] for one in chosen if one.name in settled]
    left = [one for one in chosen if one.name not in settled]
    print(f"{len(chosen)} mutants, {len(settled)} of them noticed before and unchanged", flush=True)
    if not left:
        return outcomes
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        if not arguments.no_baseline and not _passes_without(left, Path(folder), arguments.limit):
            raise SystemExit(2)
        try:
            for outcome in try_all(left, arguments.jobs, arguments.limit, Path(folder)):
                outcomes.append(outcome)
                write_store(read_store() | {outcome.name: outcome})
                print(
                    f"{outcome.verdict:12} {outcome.seconds:6.1f} s  {outcome.name}  {outcome.by}", flush=True
                )
        except KeyboardInterrupt:
            print("stopped; the verdicts so far are stored", flush=True)
    return outcomes


def _settled(mutant: Mutant, outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.verdict == NOTICED and outcome.digest == mutant.digest()


def _passes_without(mutants: list[Mutant], folder: Path, limit: float) -> bool:
    """Say whether the tests are green without any mistake, since otherwise all would be "noticed"."""
    tests = dict.fromkeys(test for mutant in mutants for test in mutant.tests)
    print(f"first without any mistake: {len(tests)} tests and files", flush=True)
    code, by = run_tests(copy_project(folder / "unchanged"), tests, limit * 6)
    if code:
        print(f"the tests fail without any mistake: {by}", flush=True)
    elif code is None:
        print("the tests without any mistake timed out; raise --limit", flush=True)
    return code == 0


def main() -> int:
    """Run the mutants that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="only mutants whose names contain one of these")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at the same time")
    parser.add_argument("--limit", type=float, default=600, help="seconds per mutant")
    parser.add_argument("--again", action="store_true", help="also those that were noticed before")
    parser.add_argument(
        "--no-baseline", action="store_true", help="do not run the tests without any mistake first"
    )
    arguments = parser.parse_args()
    mutants = read_mutants()
    chosen = [
        one for one in mutants if not arguments.words or any(word in one.name for word in arguments.words)
    ]
    if arguments.list:
        print("\n".join(f"{one.name}: {one.what}" for one in chosen))
        return 0
    outcomes = run(chosen, arguments)
    count = Counter(one.verdict for one in outcomes)
    for verdict in sorted(set(count) - {NOTICED}):
        names = ", ".join(sorted(one.name for one in outcomes if one.verdict == verdict))
        print(f"{verdict}: {names}")
    print(f"noticed {count[NOTICED]} of {len(chosen)}")
    return 0 if count[NOTICED] == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
