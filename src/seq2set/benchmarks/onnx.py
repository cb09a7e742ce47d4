"""Prediction on ONNX Runtime against torch: the same network, one text at a time and 64 together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from seq2set.benchmarks.inputs import make_texts, open_model
from seq2set.benchmarks.ratio import Ratio, measure_ratio
from seq2set.core.errors import InputError
from seq2set.inference.model_folder import load_model
from seq2set.inference.runtimes import restore_onnx
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request
from seq2set.models.tagger import Tagger
from seq2set.workflows.export import compare_answers, write_graphs

BATCH = 64


def measure_onnx(
    documents: int = BATCH,
    *,
    model: Path | None = None,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 3,
) -> Ratio:
    """Predict texts one at a time on both runtimes; `checks` has the ratio of whole batches.

    Unless a model is named, one of the default sizes that has learnt, in `settling` updates, how large sets
    are. `checks.difference` is the largest difference of two scores.
    """
    texts = make_texts(documents)
    with open_model(model, settings, settling=settling) as opened:
        torch = load_model(opened.model, "torch")
        if not isinstance(torch, NeuralTagger):
            raise InputError(f"--model is {model}; it must be a network, since linear models have no graphs")
        onnx = restore_onnx(torch.state(), opened.folder, write_graphs(opened.folder, torch))
        sizes = {"documents": documents, "labels": len(torch.labels), "model": str(model or "made")}
        alone = _measure(onnx, torch, texts, sizes | {"batch": 1}, rounds)
        together = _measure(onnx, torch, texts, sizes | {"batch": BATCH}, rounds)
        difference = compare_answers(torch, onnx, texts).difference
    return alone._replace(checks={f"ratio_at_{BATCH}": together.ratio, "difference": difference})


def _measure(
    onnx: Tagger, torch: Tagger, texts: Sequence[str], sizes: dict[str, object], rounds: int
) -> Ratio:
    def predict(tagger: Tagger) -> None:
        size = int(str(sizes["batch"]))
        for start in range(0, len(texts), size):
            tagger.infer(texts[start : start + size], Request())

    return measure_ratio("onnx", "torch", lambda: predict(onnx), lambda: predict(torch), sizes, rounds)
