"""Benchmarks: speed as a ratio, both sides measured in the same run; and a soak of the server.

A new benchmark is a function whose arguments have defaults, and a row here; `seq2set bench`, its page and
`make bench` read the table. What the function returns has `to_dict`, `summarize` and `failure`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from seq2set.core.errors import InputError
from seq2set.core.names import find_named, load_named


class Benchmark(NamedTuple):
    """A row of the table of benchmarks."""

    summary: str
    path: str
    """`module:function`, imported when it is run"""
    quick: Mapping[str, Any] = MappingProxyType({})
    """Arguments that make it quick, to see that it runs; what it then measures says nothing"""
    takes_model: bool = False
    is_ratio: bool = True


_HERE = "seq2set.benchmarks."
_SIZES = ("encoder.embedding=8", "encoder.hidden=8", "decoder.embedding=8", "decoder.hidden=8")
_TINY = (*_SIZES, "training.batch_size=32")
_SHAPE = (3, 12, 40, 6)
"""Of quick documents: the shortest and the longest, the vocabulary and the labels."""
_NETWORK = {"documents": 50, "shape": _SHAPE, "settings": _TINY, "settling": 2, "rounds": 1}
_MODEL = {"settings": _TINY, "rounds": 1}

BENCHMARKS: dict[str, Benchmark] = {
    "decode": Benchmark(
        "greedy decoding against encoding alone", _HERE + "network_cost:measure_decoding", _NETWORK
    ),
    "encoder": Benchmark(
        "a training step of the encoder against a packed LSTM",
        _HERE + "encoder:measure_encoder",
        {"documents": 50, "shape": _SHAPE, "embedding": 8, "hidden": 8, "batches": 2, "rounds": 1},
    ),
    "features": Benchmark(
        "TF-IDF against scikit-learn's", _HERE + "arrays:measure_features", {"documents": 50}
    ),
    "hostile": Benchmark(
        "honest clients while attacks run, passed or failed",
        _HERE + "serving.hostile:run_hostile",
        {"seconds": 1.0, "clients": 2, "rounds": 2, "settings": _TINY},
        takes_model=True,
        is_ratio=False,
    ),
    "memory": Benchmark(
        "peak memory of preparing and predicting, against a tenth of the documents",
        _HERE + "processes:measure_memory",
        {"documents": 50, **_MODEL},
        takes_model=True,
    ),
    "metrics": Benchmark(
        "all metrics against scikit-learn's", _HERE + "arrays:measure_metrics", {"documents": 50}
    ),
    "onnx": Benchmark(
        "prediction on ONNX Runtime against torch, one text at a time",
        _HERE + "network_speed:measure_onnx",
        {"documents": 4, **_MODEL, "settling": 2},
        takes_model=True,
    ),
    "predict": Benchmark(
        "prediction against the same network written plainly",
        _HERE + "network_speed:measure_prediction",
        {"documents": 50, **_MODEL, "settling": 2, "streamed": 50, "workers": (2,)},
        takes_model=True,
    ),
    "reward": Benchmark(
        "rewards on tensors against scikit-learn per document",
        _HERE + "arrays:measure_reward",
        {"documents": 50, "samples": 2, "batches": 1, "rounds": 1},
    ),
    "rl-step": Benchmark(
        "a self-critical update against a likelihood update",
        _HERE + "network_cost:measure_self_critical_step",
        _NETWORK,
    ),
    "scaling": Benchmark(
        "how cost grows with documents, words and labels",
        _HERE + "growth:measure_scaling",
        {
            "documents": 5,
            "words": 6,
            "labels": 5,
            "settings": _TINY,
            "steps": {"documents": (1, 4), "words": (1, 2), "labels": (1, 3)},
        },
    ),
    "search": Benchmark(
        "each search against greedy decoding", _HERE + "network_cost:measure_searches", _NETWORK
    ),
    "serve": Benchmark(
        "shared forward passes against one text each",
        _HERE + "serving.serve:measure_server",
        {"documents": 50, "clients": 4, "seconds": 0.5, **_MODEL},
        takes_model=True,
    ),
    "soak": Benchmark(
        "thousands of requests with faults, passed or failed",
        _HERE + "serving.soak:run_soak",
        {"requests": 100, "clients": 4, "settings": _TINY},
        takes_model=True,
        is_ratio=False,
    ),
    "startup": Benchmark(
        "predict from the start of its process, against torch",
        _HERE + "processes:measure_startup",
        _MODEL,
        takes_model=True,
    ),
    "threads": Benchmark(
        "training as auto decides, against one thread and all, quiet and beside a busy process",
        _HERE + "processes:measure_threads",
        {"documents": 50, "epochs": 1, "busy": (1,), "faces": ("Python",), "settings": _TINY},
    ),
    "train-step": Benchmark(
        "updates by likelihood and by policy gradient against the same network written plainly",
        _HERE + "network_speed:measure_updates",
        _NETWORK,
    ),
}
RATIOS = tuple(name for name, row in BENCHMARKS.items() if row.is_ratio)
ALL = "all"
"""Stands for every benchmark that is a ratio."""


def run_benchmark(name: str, *, model: Path | None = None, quick: bool = False) -> Any:
    """Run one benchmark, on a model of the user's where it takes one."""
    row = find_named("benchmark", name, BENCHMARKS)
    arguments = dict(row.quick) if quick else {}
    return load_named(row.path)(**arguments, **({"model": model} if model and row.takes_model else {}))


def refuse_model(name: str) -> None:
    """Refuse a model for a benchmark that takes none."""
    takes = [one for one, row in BENCHMARKS.items() if row.takes_model]
    if name not in (*takes, ALL):
        raise InputError(f"--model is named, but '{name}' takes none; {', '.join(takes)} and all do")
