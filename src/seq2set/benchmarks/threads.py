"""Training with one thread, with all, and as `auto` decides: on its own, and beside a busy process.

Each side is a process of its own that trains the default sizes for some epochs, by the command line or from
Python, and the sides take turns. What counts is the clock on the wall while updates are computed, as the
history records it: a thread that waits for another costs no work of the processor, but time.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from seq2set.benchmarks.inputs import write_corpus
from seq2set.benchmarks.ratio import Ratio, run_apart
from seq2set.config.run_folder import RunFolder
from seq2set.core.hardware import count_cores

SIDES = {"one": ("threads=1", "workers=1"), "all": (f"threads={count_cores()}", "workers=1"), "auto": ()}
_PYTHON = """
import sys
from pathlib import Path
from seq2set.config import build_config
from seq2set.workflows.train import train
if __name__ == "__main__":
    out, *settings = sys.argv[1:]
    train(build_config(model="seq2set-simp", assignments=settings), Path(out))
"""


def measure_threads(
    documents: int = 2_000,
    *,
    epochs: int = 2,
    busy: Sequence[int] = (0, 1),
    faces: Sequence[str] = ("command line", "Python"),
    settings: Sequence[str] = (),
    rounds: int = 1,
) -> Ratio:
    """Train on a number of documents, beside each number of `busy` processes, by each of the `faces`.

    The ratio is that of the better of one thread and all threads to `auto`, in the situation where that is
    lowest: 0.95 means that `auto` loses a twentieth of the speed.
    """
    own = [f"warm_start.epochs={epochs}", "self_critical.epochs=0", "prior.enabled=false", *settings]
    seconds: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = f'data.corpus="{write_corpus(folder / "corpus", documents)}"'
        for face in faces:
            for processes in busy:
                with keep_busy(processes):
                    found = _measure_sides(folder / f"{face}-{processes}", face, [data, *own], rounds)
                seconds[f"{face}, {processes} busy"] = found
    ratios = {one: min(found["one"], found["all"]) / found["auto"] for one, found in seconds.items()}
    lowest = min(ratios, key=lambda one: ratios[one])
    took = seconds[lowest]
    speeds = {
        one: {side: round(documents * epochs / value, 1) for side, value in found.items()}
        for one, found in seconds.items()
    }
    checks = {
        "ratio": {one: round(value, 3) for one, value in ratios.items()},
        "documents_per_second": speeds,
    }
    shapes = {"documents": documents, "words": 130, "epochs": epochs, "cores": count_cores()}
    opponent = f"the better of one thread and {count_cores()}, {lowest}"
    return Ratio("threads", opponent, took["auto"], min(took["one"], took["all"]), shapes, checks)


@contextmanager
def keep_busy(processes: int) -> Iterator[None]:
    """Let a number of processes take all of a core each while the block runs."""
    with ExitStack() as stack:
        for _ in range(processes):
            loop = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
            stack.callback(loop.wait)
            stack.callback(loop.kill)
        yield


def _measure_sides(folder: Path, face: str, settings: Sequence[str], rounds: int) -> dict[str, float]:
    """Return the least seconds of updates that each side took."""
    best = dict.fromkeys(SIDES, float("inf"))
    for number in range(rounds):
        for side, own in SIDES.items():
            run = folder.with_name(f"{folder.name}-{side}-{number}")
            run_apart(*_list_arguments(face, run, [*settings, *own]))
            took = sum(float(one["seconds"]) for one in RunFolder(run).records())
            best[side] = min(best[side], took)
    return best


def _list_arguments(face: str, run: Path, settings: Sequence[str]) -> list[str]:
    if face == "Python":
        return ["-c", _PYTHON, str(run), *settings]
    named = [word for one in settings for word in ("--set", one)]
    return ["-m", "seq2set", "train", "--model", "seq2set-simp", *named, "--out", str(run)]
