"""Run the tests under hostile conditions, one after the other, and print a table.

    python tools/hostile.py                       every condition
    python tools/hostile.py avx2 busy             these
    python tools/hostile.py --skip busy -- tests/server -k batch      with pytest's own options

Each row runs in a copy of the project with temporary folders and caches of its own. Rows that ended are
stored in runs/hostile (results.json, results.md, a log per row), unless pytest had options of its own. What
is not red is not run again for the same state of the project, unless --again is given. Ctrl-C prints the
table so far. Exit code 0 only where no row is red.

Another Python compiles the sources, and mypy checks them for that version. Tests need an environment: with
everything at .venv-3.12 (--install all makes it with pip), or without torch at .venv-3.12-light (--install
light), where the tests that need torch are skipped. Without either the row says so.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from conditions import CONDITIONS, Condition
from copies import ROOT
from rows import Row, run_row, state_of_project

FOLDER = ROOT / "runs/hostile"


def run_all(chosen: list[Condition], options: list[str], *, again: bool, install: str) -> list[Row]:
    """Run rows one after the other and store each; what is stored for this state of the project stays."""
    state = state_of_project()
    kept = [] if again or options else read_rows()
    stored = {row.name: row for row in kept if row.state == state and not row.is_red}
    rows: list[Row] = []
    try:
        for condition in chosen:
            row = stored.get(condition.name)
            if row is None:
                with tempfile.TemporaryDirectory(prefix="h-", ignore_cleanup_errors=True) as folder:
                    row = run_row(condition, options, Path(folder), FOLDER, state, install=install)
                if not options:  # a part of the tests says nothing of the row
                    store(row)
            rows.append(row)
            print(f"{row.name:16} {row.verdict}", flush=True)
    except KeyboardInterrupt:
        print("\nstopped; the rows so far are stored", flush=True)
    return rows


def read_rows() -> list[Row]:
    """Return the rows of earlier runs."""
    path = FOLDER / "results.json"
    return [Row(**one) for one in json.loads(path.read_text("utf-8"))] if path.is_file() else []


def store(row: Row) -> None:
    """Put a row into the results, in the place of an older one."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    names = [one.name for one in CONDITIONS]
    rows = sorted(
        [*(one for one in read_rows() if one.name != row.name), row], key=lambda one: names.index(one.name)
    )
    (FOLDER / "results.json").write_text(json.dumps([vars(one) for one in rows], indent=1), "utf-8")
    (FOLDER / "results.md").write_text(markdown(rows), "utf-8")


def markdown(rows: list[Row]) -> str:
    """Return the table."""
    lines = ["| condition | passed | failed | skipped | minutes | |", "|---|---:|---:|---:|---:|---|"]
    for row in rows:
        counts = f"{row.passed} | {row.failed} | {row.skipped} | {row.minutes:.1f}"
        lines.append(f"| {row.name}: {row.what} | {counts} | {row.verdict} |")
    lines += [f"\n{row.name}: {test}" for row in rows for test in row.red_tests]
    minutes = sum(row.minutes for row in rows)
    return "\n".join([*lines, f"\n{len(rows)} rows, {minutes:.1f} minutes in all", ""])


def main() -> int:
    """Run the rows that were asked for."""
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [one.name for one in CONDITIONS]
    parser.add_argument("names", nargs="*", help=f"conditions: {', '.join(names)}; all by default")
    parser.add_argument("--skip", action="append", default=[], help="leave a condition out", choices=names)
    parser.add_argument("--list", action="store_true", help="print the conditions and stop")
    parser.add_argument("--again", action="store_true", help="also rows that are stored")
    helped = "make environments for other Pythons with pip: everything, or what needs no torch"
    parser.add_argument("--install", choices=["all", "light"], default="", help=helped)
    arguments = parser.parse_args(words[:cut])
    if unknown := sorted(set(arguments.names) - set(names)):
        parser.error(f"no condition is called {', '.join(unknown)}; there are {', '.join(names)}")
    wanted = [one for one in CONDITIONS if not arguments.names or one.name in arguments.names]
    chosen = [one for one in wanted if one.name not in arguments.skip]
    if arguments.list:
        print("\n".join(f"{one.name:16} {one.what}" for one in chosen))
        return 0
    rows = run_all(chosen, words[cut + 1 :], again=arguments.again, install=arguments.install)
    print(f"\n{markdown(rows)}")
    return 1 if len(rows) < len(chosen) or any(row.is_red for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
