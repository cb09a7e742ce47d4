"""Benchmarks: speed as a ratio, both sides measured in the same run; and a soak of the server.

A new benchmark is a function whose arguments have defaults, and a row here; `seq2set bench` and `make bench`
read the table. What the function returns has `to_dict`, `summarize` and `failure`.
"""

from __future__ import annotations

from typing import NamedTuple


class Benchmark(NamedTuple):
    """A row of the table of benchmarks."""

    summary: str
    path: str
    """`module:function`, imported when it is run"""
    is_ratio: bool = True


BENCHMARKS: dict[str, Benchmark] = {
    "decode": Benchmark(
        "greedy decoding against encoding alone", "seq2set.benchmarks.network_cost:measure_decoding"
    ),
    "encoder": Benchmark(
        "a training step of the encoder against a packed LSTM", "seq2set.benchmarks.encoder:measure_encoder"
    ),
    "features": Benchmark("TF-IDF against scikit-learn's", "seq2set.benchmarks.arrays:measure_features"),
    "metrics": Benchmark("all metrics against scikit-learn's", "seq2set.benchmarks.arrays:measure_metrics"),
    "reward": Benchmark(
        "rewards on tensors against scikit-learn per document", "seq2set.benchmarks.arrays:measure_reward"
    ),
    "rl-step": Benchmark(
        "a self-critical update against a likelihood update",
        "seq2set.benchmarks.network_cost:measure_self_critical_step",
    ),
    "search": Benchmark("each search against greedy decoding", "seq2set.benchmarks.search:measure_searches"),
    "serve": Benchmark(
        "shared forward passes against one text each", "seq2set.benchmarks.serve:measure_server"
    ),
    "soak": Benchmark(
        "thousands of requests with faults, passed or failed",
        "seq2set.benchmarks.soak:run_soak",
        is_ratio=False,
    ),
}
RATIOS = tuple(name for name, row in BENCHMARKS.items() if row.is_ratio)
