"""What whole commands take, from their first instruction to their last: time to start, and memory.

Every command runs in a process of its own, the sides in turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from seq2set.benchmarks.inputs import copy_model, open_model, write_corpus, write_texts
from seq2set.benchmarks.ratio import Ratio, run_apart, run_in_turns
from seq2set.core.errors import WorkError

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
        copy = copy_model(chosen, folder / "exported")
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
