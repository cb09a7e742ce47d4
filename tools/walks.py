"""Trace which files of the package a command walks through, count them and draw the way.

Usage: python tools/walks.py [--json FILE] [--picture FILE.png]

Five walks: a training, a prediction with evidence, one request to a running server, an experiment, and one
step of decoding. Each is a process of its own, started like a user's by `python -m seq2set`, so the tool
knows nothing of how the package is cut. A function is counted when it is called for the first time; modules,
class bodies and comprehensions are none. A switch is a first call in another file than the one before it.
What a server lets another process do follows what it does itself.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SIGNS = {"bread": "flour yeast crust", "sea": "tide harbour gull", "music": "violin chorus melody"}
FILLER = ("the", "and", "with", "old", "we", "found", "near", "little")
TEXT = "flour and yeast near the old harbour"

TINY = (
    "threads=1", "text.min_frequency=1", "encoder.embedding=8", "encoder.hidden=8", "decoder.embedding=8",
    "decoder.hidden=8", "decoder.attention=8", "training.batch_size=16", "training.validate_every=4",
    "training.device=cpu", "linear.c=[0.3, 3.0]",
)  # fmt: skip
SET = [part for setting in TINY for part in ("--set", setting)]
TRAIN = ["train", "--data", "x.jsonl", "--model", "seq2set", *SET, "--out", "run"]
PREDICT = ["predict", "run", TEXT]

CHILD = """
import sys
if "-m" in sys.orig_argv:
    sys.path.insert(0, {tools!r})
    import walks
    walks.trace_child()
"""
"""What makes a process that a server starts trace itself"""

STEP = "step"
"""What every decoder calls its one step: a step of a search goes from one call to the next"""


def main() -> None:
    """Do every walk in a folder of its own, print the table, and write what is asked for."""
    parser = argparse.ArgumentParser(description="Trace and draw the walks through the package.")
    parser.add_argument("--json", type=Path, help="write the walks here")
    parser.add_argument("--picture", type=Path, help="draw the walks here, as PNG")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        walks = walk_all(Path(folder))
    print_table(walks)
    if asked.json:
        asked.json.write_text(json.dumps(walks, indent=1) + "\n")
    if asked.picture:
        draw(walks, asked.picture)


def walk_all(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what was counted on each walk."""
    write_corpus(folder / "x.jsonl")
    models = ["--models", "br,seq2set-simp"]
    return {
        "train --model seq2set": walk(folder, TRAIN),
        "predict --explain": walk(folder, [*PREDICT, "--explain"]),
        "POST /v1/predict": walk_request(folder),
        "experiment table-results": walk(
            folder, ["experiment", "table-results", "--data", "x.jsonl", *models, *SET, "--out", "experiment"]
        ),
        "the same, all done": walk(
            folder, ["experiment", "table-results", "--data", "x.jsonl", *models, *SET, "--out", "experiment"]
        ),
        "one decoding step": walk(folder, PREDICT, what="decoding"),
    }


def write_corpus(path: Path) -> None:
    """Write 80 invented documents."""
    draw_from = random.Random(5)
    with path.open("w", encoding="utf-8") as stream:
        for number in range(80):
            labels = draw_from.sample(sorted(SIGNS), draw_from.choice((1, 2)))
            words = draw_from.choices(FILLER, k=5) + [word for one in labels for word in SIGNS[one].split()]
            stream.write(json.dumps({"id": str(number), "text": " ".join(words), "labels": labels}) + "\n")


def start(folder: Path, arguments: Sequence[str], what: str) -> subprocess.Popen[str]:
    """Start a traced command in `folder`."""
    (folder / "trace.json").unlink(missing_ok=True)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "SEQ2SET_CACHE": "cache", "PYTHONUNBUFFERED": "1"}
    if what == "request":  # Python imports this file first, in the processes that the server starts as well
        (folder / "sitecustomize.py").write_text(CHILD.format(tools=str(Path(__file__).resolve().parent)))
        paths = (str(folder), os.environ.get("PYTHONPATH", ""))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    command = [sys.executable, str(Path(__file__).resolve()), "--traced", what, *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def walk(folder: Path, arguments: Sequence[str], what: str = "walk") -> dict[str, Any]:
    """Trace a command from its first line to its last."""
    process = start(folder, arguments, what)
    _, complaints = process.communicate()
    if process.returncode:
        sys.exit(f"seq2set {' '.join(arguments)} failed:\n{complaints}")
    return read_trace(folder)


def walk_request(folder: Path) -> dict[str, Any]:
    """Trace one request to a server that is up."""
    server = start(folder, ["serve", "run", "--port", "0"], "request")
    assert server.stdout is not None
    addresses = (re.search(r"http://[\d.:]+\d", line) for line in server.stdout)
    address = next((found[0] for found in addresses if found), None)
    if address is None:
        sys.exit("seq2set serve did not start")
    urllib.request.urlopen(f"{address}/v1/model").close()  # noqa: S310
    server.send_signal(signal.SIGUSR1)
    while not (folder / "armed").is_file():
        time.sleep(0.01)
    body = json.dumps({"texts": [TEXT], "explain": True}).encode()
    asked = urllib.request.Request(f"{address}/v1/predict", body, {"Content-Type": "application/json"})  # noqa: S310
    urllib.request.urlopen(asked).close()  # noqa: S310
    server.send_signal(signal.SIGUSR1)
    while (folder / "armed").is_file():
        time.sleep(0.01)
    server.send_signal(signal.SIGINT)
    server.communicate()
    return read_trace(folder)


def read_trace(folder: Path) -> dict[str, Any]:
    """Return the counts and the path of the last trace."""
    trace = json.loads((folder / "trace.json").read_text())
    path = [tuple(step) for step in trace["path"]]
    for child in sorted(folder.glob("child-*.jsonl")):
        path += [tuple(json.loads(line)) for line in child.read_text().splitlines()]
        child.unlink()
    files = sorted({file for file, _ in path})
    switches = sum(one[0] != other[0] for one, other in pairwise(path))
    return {
        "files": len(files),
        "functions": len(path),
        "switches": switches,
        "modules": trace["modules"],
        "rooms": dict(Counter(room_of(file) for file in files)),
        "names": files,
        "path": path,
    }


def room_of(file: str) -> str:
    """Return the folder of a file, or a stroke for those in none."""
    return file.split("/")[0] if "/" in file else "-"


class Tracer:
    """Notes functions of the package when they are called for the first time."""

    def __init__(self, what: str):
        spec = find_spec("seq2set")
        assert spec is not None
        assert spec.origin is not None
        self.root = str(Path(spec.origin).resolve().parent) + os.sep
        self.what, self.path = what, Path("trace.json").resolve()
        self.armed = what != "request"
        self.first: dict[CodeType, None] = {}
        self.window: dict[CodeType, None] = {}
        self.windows: list[tuple[CodeType, ...]] = []

    def start(self) -> None:
        """Begin to listen, in threads to come as well."""
        listen = self.hear_step if self.what == "decoding" else self.hear
        signal.signal(signal.SIGUSR1, self.toggle)
        threading.setprofile(listen)
        sys.setprofile(listen)

    def toggle(self, *_: object) -> None:
        """Begin or end to note, and say so by a file; a server ends at once, and leaves no time to write."""
        self.armed = not self.armed
        if self.armed:
            Path("armed").touch()
        else:
            self.write()
            Path("armed").unlink()

    def is_function(self, code: CodeType) -> bool:
        """Say whether this is a function of the package, and no module, class body or comprehension."""
        inside = code.co_filename.startswith(self.root) and code.co_flags & 1
        return bool(inside) and (code.co_name == "<lambda>" or not code.co_name.startswith("<"))

    def hear(self, frame: FrameType, event: str, _: object) -> None:
        """Note a function that is called for the first time."""
        code = frame.f_code
        if event == "call" and self.armed and code not in self.first and self.is_function(code):
            self.first[code] = None

    def hear_step(self, frame: FrameType, event: str, _: object) -> None:
        """Cut the calls where a decoder's step is called: a step of the search lies between two of these."""
        code = frame.f_code
        if event == "call" and self.is_function(code):
            if code.co_name == STEP:
                self.windows.append(tuple(self.window))
                self.window = {}
            caller = frame.f_back
            while caller is not None and not self.is_function(caller.f_code):
                caller = caller.f_back
            # The one that calls has a part in the step too, although it was entered before.
            self.window |= dict.fromkeys([caller.f_code, code] if caller is not None else [code])

    def found(self) -> list[CodeType]:
        """Return what was noted; of decoding, the step that occurred most often."""
        if self.what != "decoding":
            return list(self.first)
        sets = Counter(frozenset(window) for window in self.windows[1:])
        usual = sets.most_common(1)[0][0]
        return list(next(window for window in self.windows if frozenset(window) == usual))

    def write(self) -> None:
        """Write down the path and how many modules of the package are loaded."""
        sys.setprofile(None)
        threading.setprofile(None)
        modules = sum(name.split(".")[0] == "seq2set" for name in sys.modules)
        found = self.found()
        self.path.write_text(json.dumps({"modules": modules, "path": [self.locate(code) for code in found]}))

    def locate(self, code: CodeType) -> tuple[str, str]:
        """Return the file and the name of a function."""
        return Path(code.co_filename).relative_to(self.root).as_posix(), name_of(code)


def trace_child() -> None:
    """Write down the functions that this process calls for the first time while the server listens."""
    tracer, armed = Tracer("walk"), Path("armed").resolve()
    written = armed.with_name(f"child-{os.getpid()}.jsonl")

    def hear(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code not in tracer.first and tracer.is_function(code) and armed.exists():
            tracer.first[code] = None
            with written.open("a") as stream:
                stream.write(json.dumps(tracer.locate(code)) + "\n")

    threading.setprofile(hear)
    sys.setprofile(hear)


def name_of(code: CodeType) -> str:
    """Return a function's name; with its class from Python 3.11 on."""
    return str(getattr(code, "co_qualname", code.co_name))


def run_traced(what: str, arguments: Sequence[str]) -> None:
    """Be `seq2set` with these arguments, and leave the trace in this folder."""
    tracer = Tracer(what)
    sys.argv = ["seq2set", *arguments]
    tracer.start()
    try:
        runpy.run_module("seq2set", run_name="__main__")
    finally:
        tracer.write()


def print_table(walks: dict[str, dict[str, Any]]) -> None:
    """Print a row for each walk."""
    print(f"{'walk':<28}{'files':>7}{'functions':>11}{'switches':>10}{'modules':>9}  rooms")
    for name, one in walks.items():
        rooms = ", ".join(f"{room} {count}" for room, count in sorted(one["rooms"].items()))
        row = f"{name:<28}{one['files']:>7}{one['functions']:>11}{one['switches']:>10}{one['modules']:>9}"
        print(f"{row}  {rooms}")


def draw(walks: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw each walk as a way from room to room, a step for each function."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    heights = [max(len(one["rooms"]), min(one["files"], 8)) + 2.5 for one in walks.values()]
    figure, panels = plt.subplots(
        len(walks), 1, figsize=(13, 0.24 * sum(heights)), height_ratios=heights, layout="constrained"
    )
    for panel, (name, one) in zip(panels, walks.items(), strict=True):
        draw_walk(panel, name, one)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_walk(panel: Any, name: str, walked: dict[str, Any]) -> None:
    """Draw one walk: rooms from top to bottom as they are entered, or the files where there is one room."""
    places = [room_of(file) for file, _ in walked["path"]]
    if len(walked["rooms"]) == 1:
        places = [file for file, _ in walked["path"]]
    rooms = list(dict.fromkeys(places))
    heights = [rooms.index(place) for place in places]
    numbers = range(1, len(heights) + 1)
    panel.step(numbers, heights, where="mid", color="#9aa5b1", linewidth=0.8)
    panel.scatter(numbers, heights, s=7, color="#1f5fa8", zorder=2)
    labels = [f"{'(no folder)' if room == '-' else room}  {walked['rooms'].get(room, '')}" for room in rooms]
    panel.set_yticks(range(len(rooms)), labels, fontsize=8)
    panel.set_ylim(len(rooms) - 0.5, -0.5)
    panel.set_xlim(0, len(heights) + 1)
    panel.grid(axis="y", color="#eeeeee")
    panel.spines[["top", "right"]].set_visible(False)
    counts = f"{walked['files']} files, {walked['functions']} functions, {walked['switches']} switches"
    panel.set_title(f"{name}: {counts}", loc="left", fontsize=10)
    panel.set_xlabel("functions in the order of their first call; beside a room, its files", fontsize=7)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--traced"]:
        run_traced(sys.argv[2], sys.argv[3:])
    else:
        main()
