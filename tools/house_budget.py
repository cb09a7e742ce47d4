"""Count how much of the source tree was there before, and how much came on top, room by room.

Usage: python tools/house_budget.py [--json FILE] [FOLDER]

The tree was measured, got its first features, was rebuilt into rooms, and has grown since. A line belongs to
the stage in which it was last changed, as `git blame -w -M -C` tells in a clone with the whole history; moved
and copied lines keep their stage. A new line in the place of an older one, in one hunk of the difference,
counts as base: it was changed, and nothing came on top. So do lines of the first features that the rebuilding
wrote again. A file belongs to the stage of most of its lines.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Stage(NamedTuple):
    """A range of commits: from the end of the stage before it to its own."""

    kind: str
    end: str


STAGES = (
    Stage("base", "dd74702"),  # the tree as it was first measured
    Stage(
        "first features", "460fdae"
    ),  # groups, seen documents, tests over seeds, rules without unread texts
    Stage("base", "3a53d69"),  # the rebuilding
    Stage("later features", "HEAD"),  # files of all kinds, ONNX, encoders, calibration, feedback, hardening
)
KINDS = tuple(dict.fromkeys(stage.kind for stage in STAGES))

HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
GROUP = re.compile(r"([0-9a-f]{40}) \d+ \d+ (\d+)")


def main() -> None:
    """Print a row for each room, and how large the tree was at the end of each stage."""
    parser = argparse.ArgumentParser(description="Count what was there before, and what came on top.")
    parser.add_argument("folder", nargs="?", default="src/seq2set")
    parser.add_argument("--json", type=Path, help="write the figures here")
    asked = parser.parse_args()
    rooms = count_rooms(ROOT, asked.folder, STAGES)
    print_table(rooms)
    for stage in STAGES:
        print(f"{stage.kind} up to {stage.end}: {count_lines(ROOT, asked.folder, stage.end):,} lines")
    if asked.json:
        asked.json.write_text(json.dumps(rooms, indent=1) + "\n")


def count_rooms(root: Path, folder: str, stages: Sequence[Stage]) -> dict[str, dict[str, int]]:
    """Return for each room the files and the lines of each kind."""
    rooms: dict[str, dict[str, int]] = defaultdict(Counter)
    names = run_git(root, "ls-tree", "-r", "--name-only", stages[-1].end, folder).splitlines()
    kinds = find_kinds(root, stages)
    replaced = find_replaced(root, folder, stages)
    for name in (one for one in names if one.endswith(".py")):
        inside = Path(name).relative_to(folder)
        room = inside.parts[0] if len(inside.parts) > 1 else "-"
        lines = [kinds[commit] for commit in blame(root, name, stages[-1].end)]
        for place, count in replaced[name]:
            new = [at for at in range(place, place + count.new) if lines[at] == stages[-1].kind]
            for at in new[: count.old]:
                lines[at] = stages[0].kind
        counted = Counter(lines)
        rooms[room].update({f"lines, {kind}": count for kind, count in counted.items()})
        rooms[room].update({f"files, {kind}": 1 for kind, _ in counted.most_common(1)})
    return {room: dict(rooms[room]) for room in sorted(rooms)}


def find_kinds(root: Path, stages: Sequence[Stage]) -> dict[str, str]:
    """Return the kind of each commit."""
    kinds: dict[str, str] = {}
    for stage in stages:
        for commit in run_git(root, "rev-list", stage.end).split():
            kinds.setdefault(commit, stage.kind)
    return kinds


class Hunk(NamedTuple):
    """How many lines stand in the place of how many."""

    old: int
    new: int


def find_replaced(root: Path, folder: str, stages: Sequence[Stage]) -> dict[str, list[tuple[int, Hunk]]]:
    """Return what the last stage changed in each file, with the places, which begin with 0."""
    ends = [stage.end for stage in stages[-2:]]
    replaced: dict[str, list[tuple[int, Hunk]]] = defaultdict(list)
    name = ""
    for line in run_git(root, "diff", "-w", "-M", "-l0", "--unified=0", *ends, "--", folder).splitlines():
        if line.startswith("+++ "):
            name = line.removeprefix("+++ b/")
        elif found := HUNK.match(line):
            old, new = (int(found[place] or 1) for place in (1, 3))
            replaced[name].append((int(found[2]) - 1, Hunk(old, new)))
    return replaced


def blame(root: Path, name: str, commit: str) -> Iterator[str]:
    """Yield the commit that last changed each line."""
    for line in run_git(root, "blame", "--porcelain", "-w", "-M", "-C", commit, "--", name).splitlines():
        if found := GROUP.match(line):
            yield from [found[1]] * int(found[2])


def count_lines(root: Path, folder: str, commit: str) -> int:
    """Return the lines of Python at a commit."""
    counted = run_git(root, "grep", "-c", "", commit, "--", f"{folder}/*.py").splitlines()
    return sum(int(line.rpartition(":")[2]) for line in counted)


def run_git(root: Path, *arguments: str) -> str:
    """Return what git prints."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8").stdout


def print_table(rooms: dict[str, dict[str, int]]) -> None:
    """Print a row for each room, and one for all."""
    columns = [f"{what}, {kind}" for kind in KINDS for what in ("files", "lines")]
    whole = {column: sum(room.get(column, 0) for room in rooms.values()) for column in columns}
    print(f"{'':<12}" + "".join(f"{kind:>18}" for kind in KINDS))
    print(f"{'room':<12}" + f"{'files':>9}{'lines':>9}" * len(KINDS))
    for name, room in {**rooms, "all": whole}.items():
        print(f"{name:<12}" + "".join(f"{room.get(column, 0):>9,}" for column in columns))


if __name__ == "__main__":
    main()
