"""Kill trainings, feedback and the preparing of corpora at random moments, and look at what is left.

Usage: python tools/kills.py [--times 50] [--seed 1]

A training is killed and resumed until it ends; its weights must be those of one that nobody disturbed.
Feedback that was acknowledged must be in the database. A corpus that is replaced must be the old one or the
new one, and open. Processes get SIGKILL, so that nothing can be tidied up.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from seq2set.config import build_config
from seq2set.config.run_locks import LOCK
from seq2set.core.files import compute_sha256
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import PrepareOptions, prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.server.feedback_store import Feedback, FeedbackStore
from seq2set.workflows.train import train

SIGNS = {"grain": "wheat", "oil": "crude", "trade": "tariff", "money": "bank"}
SETTINGS = ["encoder.embedding=8", "training.batch_size=8", "training.validate_every=5", "workers=1"]
SETTINGS += ["threads=1", "likelihood.epochs=8"]


def make_documents(count: int, seed: int) -> list[Document]:
    """Invent documents whose labels show by a word each."""
    draw = random.Random(seed)
    sets = [draw.sample(sorted(SIGNS), draw.choice((1, 1, 2))) for _ in range(count)]
    return [
        Document(str(number), " ".join(["the", "market", *(SIGNS[one] for one in labels)]), tuple(labels))
        for number, labels in enumerate(sets)
    ]


def prepare_corpus(out: Path, count: int, seed: int) -> PreparedCorpus:
    """Prepare invented documents, in the place of what is there."""
    documents, options = make_documents(count, seed), PrepareOptions(force=True)
    plan = SplitPlan("random", 0.2, 0.2, 1)
    about = {"name": "invented", "source": "invented", "licence": "none"}
    return prepare(documents, out, **about, plan=plan, options=options)


def run_and_kill(work: Callable[[], object], seconds: float | None) -> bool:
    """Run in a process of its own, and kill it after so long; return whether it was killed."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException as error:  # the parent must know
            print(f"failed: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), f"it ended with {code}"
    return code != 0


def kill_trainings(folder: Path, model: str, times: int, draw: random.Random) -> str:
    """Kill and resume trainings, begun anew whenever one has ended, and compare the weights."""
    corpus = prepare_corpus(folder / "corpus", 200, 1)
    settings = [
        f'data.corpus="{corpus.folder}"',
        *(SETTINGS if model != "br" else ["workers=1", "threads=1"]),
    ]
    config = build_config(model=model, assignments=settings)
    began = time.perf_counter()
    run_and_kill(lambda: train(config, folder / "whole"), None)
    whole = time.perf_counter() - began
    wanted, kills, runs, equal = compute_sha256(folder / "whole/model/model.safetensors"), 0, 0, 0
    left = 0
    while kills < times:
        out = folder / f"run-{runs}"
        killed = True
        while killed:
            wait = draw.uniform(0, 0.6 * whole) if kills < times else None
            killed = run_and_kill(functools.partial(train, config, out, resume=True), wait)
            kills += killed
        runs += 1
        equal += compute_sha256(out / "model/model.safetensors") == wanted
        left += sum(one.name.startswith(".") and one.name != LOCK for one in out.iterdir())
    assert equal == runs, "weights differ"
    said = f"{model}: {kills} kills in {runs} trainings, the same weights in all"
    return f"{said}; {left} hidden leftovers of what was being written"


def kill_feedback(folder: Path, times: int, draw: random.Random) -> str:
    """Kill a process that writes feedback, and look for all that it acknowledged."""
    path, told, lost = folder / "feedback.sqlite", 0, 0
    for number in range(times):
        reading, writing = os.pipe()

        def work() -> None:
            store = FeedbackStore(path, "model")
            for count in range(1_000_000):
                text = f"text {number} {count}"  # noqa: B023
                store._thread.submit(store._add, Feedback(text, accepted=["a"], added=["b"])).result()
                os.write(writing, f"{text}\n".encode())  # noqa: B023

        run_and_kill(work, draw.uniform(0.05, 0.5))
        os.close(writing)
        with os.fdopen(reading) as stream:
            acknowledged = [line.rstrip("\n") for line in stream if line.endswith("\n")]
        if not path.exists():
            continue
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'texts'").fetchone():
                assert not acknowledged  # it was killed before the tables were made
                continue
            known = {text for (text,) in connection.execute("SELECT text FROM texts")}
            halves = connection.execute(
                "SELECT count(*) FROM feedback WHERE (SELECT count(*) FROM feedback_labels"
                " WHERE feedback_id = feedback.id) != 2"
            ).fetchone()[0]
        assert not halves
        told, lost = told + len(acknowledged), lost + len(set(acknowledged) - known)
    return f"feedback: {times} kills, {told:,} acknowledged, {lost} lost, none half-written"


def kill_preparing(folder: Path, times: int, draw: random.Random) -> str:
    """Kill a process that replaces a corpus, which is the old one or the new one then."""
    out = folder / "replaced"
    began = time.perf_counter()
    sums = [prepare_corpus(out, 3000, seed).fingerprint for seed in (1, 2)]
    whole, current, found = (time.perf_counter() - began) / 2, 1, [0, 0]
    for _ in range(times):
        other = 1 - current
        work = functools.partial(prepare_corpus, out, 3000, other + 1)
        run_and_kill(work, draw.uniform(0, 1.3 * whole))
        corpus = PreparedCorpus.open(out)
        corpus.verify()
        assert corpus.fingerprint in sums
        assert sum(len(corpus.split(name)) for name in ("train", "valid", "test")) == 3000
        found[corpus.fingerprint == sums[other]] += 1
        current = sums.index(corpus.fingerprint)
    return f"data prepare: {times} kills, {found[0]} times the old corpus whole, {found[1]} times the new one"


def main() -> None:
    """Kill, look, and say what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    for module in ("sklearn.svm", "scipy.optimize", "joblib", "seq2set.training.train_network"):
        importlib.import_module(module)  # once, and not in each process
    with tempfile.TemporaryDirectory(prefix="seq2set-kills-") as name:
        for part in ("br", "cnn", "feedback", "prepare"):
            folder = Path(name) / part
            folder.mkdir()
            if part == "feedback":
                print(kill_feedback(folder, options.times, draw), flush=True)
            elif part == "prepare":
                print(kill_preparing(folder, options.times, draw), flush=True)
            else:
                print(kill_trainings(folder, part, options.times, draw), flush=True)


if __name__ == "__main__":
    main()
