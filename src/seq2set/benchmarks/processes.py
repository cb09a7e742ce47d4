"""What whole commands take, in processes of their own that take turns: time to start, memory, and threads.

Trainings with one thread, with all, and as `auto` decides are compared on their own and beside a busy
process, by the command line and from Python. What counts is the clock on the wall while updates are computed,
as the history records it: a thread that waits for another costs no work of the processor, but time.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from seq2set.benchmarks.inputs import open_model, write_corpus, write_texts
from seq2set.benchmarks.ratio import Ratio, run_apart, run_in_turns
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import WorkError
from seq2set.core.hardware import count_cores
from seq2set.inference.model_folder import find_model_folder

_SEQ2SET = ("-m", "seq2set")
TEXT = "w1 w2 w3 w4 w5 w6 w7 w8"


def measure_startup(
    documents: int = 1, *, model: Path | None = None, settings: Sequence[str] = (), rounds: int = 3
) -> Ratio:
    """Predict a text or a few with a process that starts for them.

    Where the model can be exported, ours is ONNX Runtime and the opponent torch. Otherwise ours is torch, and
    the opponent a process that imports torch and does nothing: no command that uses it can start faster.
    """
    with open_model(model, settings) as (chosen, folder):
        predict = (*_SEQ2SET, "predict", str(chosen), *[TEXT] * documents)
        copy = Path(shutil.copytree(find_model_folder(chosen), folder / "exported"))
        exported = _export(copy, write_corpus(folder / "corpus", 100))
        onnx = (*_SEQ2SET, "predict", str(copy), *predict[4:], "--runtime", "onnx")
        sides = [onnx, predict] if exported else [predict, ("-c", "import torch")]
        ours, theirs, help_page = run_in_turns([*sides, (*_SEQ2SET, "--help")], rounds)
    opponent = "the same with torch" if exported else "a process that only imports torch"
    shapes = {"documents": documents, "words": 8, "runtime": "onnx" if exported else "torch"}
    checks = {
        "help_seconds": help_page.seconds,
        "bytes": {"ours": ours.memory, "opponent": theirs.memory},
    }
    return Ratio("startup", opponent, ours.seconds, theirs.seconds, shapes, checks)


def _export(model: Path, corpus: Path) -> bool:
    """Add ONNX graphs to a model, and say whether that worked."""
    try:
        run_apart(*_SEQ2SET, "export", str(model), "--to", "onnx", "--data", str(corpus), "--force")
    except WorkError:
        return False
    return True


def measure_memory(
    documents: int = 20_000,
    *,
    times: int = 10,
    model: Path | None = None,
    settings: Sequence[str] = (),
    rounds: int = 1,
) -> Ratio:
    """Compare the peak memory of `data prepare` and `predict` with that on a tenth of the documents.

    The ratio is that of the command that grows more: near 1 where memory does not depend on the documents.
    """
    few = max(1, documents // times)
    with open_model(model, settings) as (chosen, folder):
        files = {count: write_texts(folder / f"{count}.jsonl", count) for count in (documents, few)}
        found = {}
        for verb in ("prepare", "predict"):
            sides = [_list_arguments(verb, chosen, files[count], folder) for count in (documents, few)]
            found[verb] = run_in_turns(sides, rounds)
    grown = {verb: large.memory / small.memory for verb, (large, small) in found.items()}
    most = max(grown, key=lambda verb: grown[verb])
    large, small = found[most]
    checks = {
        "bytes": {verb: {"ours": a.memory, "opponent": b.memory} for verb, (a, b) in found.items()},
        "growth": {verb: round(value, 3) for verb, value in grown.items()},
        "ratio_is_of": most,
    }
    shapes = {"documents": documents, "opponent_documents": few, "words": 130}
    opponent = f"the same with {few:,} documents"
    took = (large.seconds, small.seconds)
    return Ratio("memory", opponent, large.memory, small.memory, shapes, checks, "bytes", took)


def _list_arguments(verb: str, model: Path, texts: Path, folder: Path) -> list[str]:
    if verb == "prepare":
        out = ["--out", str(folder / "corpus"), "--force"]
        return [*_SEQ2SET, "data", "prepare", "made", "--from", str(texts), *out]
    out = ["--output", str(folder / "out.jsonl"), "--force"]
    return [*_SEQ2SET, "predict", str(model), "--input", str(texts), *out]


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
            run_apart(*_list_training(face, run, [*settings, *own]))
            took = sum(float(one["seconds"]) for one in RunFolder(run).records())
            best[side] = min(best[side], took)
    return best


def _list_training(face: str, run: Path, settings: Sequence[str]) -> list[str]:
    if face == "Python":
        return ["-c", _PYTHON, str(run), *settings]
    named = [word for one in settings for word in ("--set", one)]
    return ["-m", "seq2set", "train", "--model", "seq2set-simp", *named, "--out", str(run)]
