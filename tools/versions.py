"""Compare the speed of this version with that of another checkout, in turns, as users run the two.

    git worktree add /tmp/before COMMIT
    PYTHONPATH=/tmp/before/src python -m seq2set train --data medline --out runs/before
    python tools/versions.py /tmp/before runs/before --data medline

`predict` labels all texts of the corpus, from the start of its process to its end, with the cores of the
machine and with one of them; micro-F1 is that of what it wrote for the test split. `serve` answers clients
that each send one text after the other; megabytes are resident, of the front and its model processes, after
that. Both versions open the same model folder, so the other must be the older one, and they run with the same
Python.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seq2set.benchmarks.serving.serve import send_load, start_server
from seq2set.corpora.documents import Document
from seq2set.corpora.open_corpus import open_corpus

HERE = Path(__file__).resolve().parents[1]
SPLITS = "train", "valid", "test"


class Tagged(NamedTuple):
    """What one run of `predict` took and reached."""

    seconds: float
    micro_f1: float


@contextmanager
def use_version(checkout: Path) -> Iterator[None]:
    """Let processes that are started import seq2set from a checkout."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(checkout / "src")
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def read_documents(data: str) -> list[Document]:
    """Return the documents of all splits, those of test last."""
    corpus = open_corpus(data)
    return [one for name in SPLITS for batch in corpus.split(name).iter_batches(1024) for one in batch]


def tag(run: Path, texts: Path, out: Path, cores: Sequence[int]) -> float:
    """Label a file on some cores; return the seconds on the clock."""
    command = [
        "taskset",
        "-c",
        ",".join(map(str, cores)),
        sys.executable,
        "-m",
        "seq2set",
        "predict",
        str(run),
    ]
    out.unlink(missing_ok=True)
    began = time.perf_counter()
    subprocess.run([*command, "--input", str(texts), "--output", str(out)], check=True, capture_output=True)
    return time.perf_counter() - began


def measure_micro_f1(out: Path, test: Sequence[Document]) -> float:
    """Return micro-F1 of the last lines of an output, which are the test documents'."""
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    given = [{one["label"] for one in line["labels"]} for line in lines]
    pairs = [(one, set(document.labels)) for one, document in zip(given[-len(test) :], test, strict=True)]
    both = sum(len(one & right) for one, right in pairs)
    return 2 * both / sum(len(one) + len(right) for one, right in pairs)


def compare_predict(checkouts: Sequence[Path], run: Path, data: str, turns: int) -> None:
    """Print documents per second of both, with one core and with all."""
    documents = read_documents(data)
    test = documents[-sum(map(len, open_corpus(data).split("test").iter_batches(1024))) :]
    with tempfile.TemporaryDirectory() as folder:
        texts, out = Path(folder, "texts.jsonl"), Path(folder, "tagged.jsonl")
        rows = (json.dumps({"id": str(at), "text": one.text}) for at, one in enumerate(documents))
        texts.write_text("\n".join(rows) + "\n", encoding="utf-8")
        every = sorted(os.sched_getaffinity(0))
        for cores in (every[:1], every) if len(every) > 1 else (every,):
            found: list[list[Tagged]] = [[], []]
            for _ in range(turns):
                for side, checkout in enumerate(checkouts):
                    with use_version(checkout):
                        found[side].append(Tagged(tag(run, texts, out, cores), measure_micro_f1(out, test)))
            best = [min(one) for one in found]
            print(
                f"predict, {len(cores)} of {len(every)} cores: "
                f"{best[0].seconds / best[1].seconds:.2f} times as fast; "
                + " and ".join(
                    f"{len(documents) / one.seconds:.0f} documents per second at micro-F1 {one.micro_f1:.4f}"
                    for one in best
                ),
                flush=True,
            )


class Served(NamedTuple):
    """What one server did."""

    rate: float
    """Requests per second"""
    p50: float
    p99: float
    megabytes: float


def compare_serve(checkouts: Sequence[Path], run: Path, asked: argparse.Namespace) -> None:
    """Print requests per second of both servers, which take turns: only one of them runs at a time."""
    texts = [one.text for one in read_documents(asked.data)[-256:]]
    found: list[list[Served]] = [[], []]
    for _ in range(asked.turns):
        for side, checkout in enumerate(checkouts):
            with use_version(checkout), start_server(run, *shlex.split(asked.serve)) as server:
                asyncio.run(send_load(server, texts, asked.clients, 2.0))  # the first requests are slower
                result = asyncio.run(send_load(server, texts, asked.clients, asked.seconds))
                memory = server.read_memory() / 2**20
            p50, p99 = np.percentile(result.latencies, [50, 99]) * 1000
            assert set(result.statuses) == {200}, result.statuses
            found[side].append(Served(1 / result.seconds_per_request, p50, p99, memory))
    best = [max(one) for one in found]
    print(
        f"serve, {asked.clients} clients: {best[1].rate / best[0].rate:.2f} times as many; "
        + " and ".join(
            f"{one.rate:.0f} requests per second, p50 {one.p50:.0f} ms, p99 {one.p99:.0f} ms, "
            f"{one.megabytes:.0f} MB"
            for one in best
        ),
        flush=True,
    )


def main() -> None:
    """Compare prediction, then serving."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path, help="a checkout of the older version")
    parser.add_argument("run", type=Path, help="a run or a model folder that both versions open")
    parser.add_argument("--data", required=True, help="a prepared corpus")
    parser.add_argument("--parts", nargs="*", default=["predict", "serve"])
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--serve", default="", help="options of both servers, such as '--runtime onnx'")
    asked = parser.parse_args()
    checkouts = asked.before.resolve(), HERE
    if "predict" in asked.parts:
        compare_predict(checkouts, asked.run, asked.data, asked.turns)
    if "serve" in asked.parts:
        compare_serve(checkouts, asked.run, asked)


if __name__ == "__main__":
    main()
