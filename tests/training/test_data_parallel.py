"""Several processes of one machine train as one does."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
import torch
from torch.distributed import TCPStore

from seq2set.config import Config
from seq2set.config.catalog import ENCODERS, EncoderKind
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError, StoppedError, WorkError
from seq2set.core.processes import Job, WorkerPool
from seq2set.core.progress import Silent
from seq2set.training import data_parallel
from seq2set.training.data_parallel import choose_device, count_workers
from seq2set.training.train_network import train_network
from tiny_networks import tiny_config, tiny_examples, trained

BOTH = ("self_critical.epochs=1", "training.validate_every=2", "objective.samples=2")


def losses(folder: Path) -> list[float]:
    return [record["loss"] for record in RunFolder(folder).records()]


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[WorkerPool[Any]]:
    """The pools that are opened, and with them the processes."""
    opened: list[WorkerPool[Any]] = []

    class Watched(WorkerPool[Job]):
        def __enter__(self) -> WorkerPool[Job]:
            opened.append(self)
            self.processes: list[subprocess.Popen[bytes]] = []
            return super().__enter__()

        def start(self, job: Any, arguments: Any, **options: Any) -> None:
            super().start(job, arguments, **options)
            self.processes += [worker.process for worker in self._workers.values() if worker.job == job]

    monkeypatch.setattr(data_parallel, "WorkerPool", Watched)
    return opened


def train_watched(folder: Path, config: Config, watch: Any) -> None:
    run = RunFolder.start(folder, config, resume=True, watch=watch)
    train_network(config, tiny_examples(), tiny_examples(12, seed=2), run, Silent())


def test_two_processes_learn_what_one_does(tmp_path: Path, pools: list[Any]) -> None:
    """With dropout, samples and a reward that looks at the run so far; 20 documents in batches of 9."""
    noisy = ("encoder.dropout=0.2", "decoder.dropout=0.2", "objective.reward=micro_f1", *BOTH)
    noisy += ("threads=auto", "training.batch_size=9", "training.validate_every=1", "training.accumulate=2")
    two = trained(tmp_path / "two", tiny_config(*noisy, "workers=2"))
    one = trained(tmp_path / "one", tiny_config(*noisy, "workers=1"))
    assert [process.returncode is not None for process in pools[0].processes] == [True]
    found, wanted = (RunFolder(tmp_path / name).records() for name in ("two", "one"))
    assert len(found) == len(wanted) == 6
    for ours, theirs in zip(found, wanted, strict=True):
        for name in ("loss", "reward", "signal", "micro_f1"):
            assert ours.get(name, 0) == pytest.approx(theirs.get(name, 0), abs=1e-4), name
    assert (found[0]["workers"], wanted[0]["workers"]) == (2, 1)
    assert two.rule.thresholds == pytest.approx(one.rule.thresholds, abs=1e-4)


def test_a_process_that_dies_ends_all_with_a_sentence(tmp_path: Path, pools: list[Any]) -> None:
    def kill(number: int, record: dict[str, Any]) -> None:
        if number == 1:
            pools[0].processes[0].kill()

    config = tiny_config("workers=2", *BOTH)
    with pytest.raises(WorkError, match=r"training process 2 ended unexpectedly \(exit code -9\); rerun"):
        train_watched(tmp_path, config, kill)
    assert not torch.distributed.is_initialized()
    trained(tmp_path, config.model_copy(update={"workers": 1}))  # and one process goes on where two were
    assert [record["workers"] for record in RunFolder(tmp_path).records()] == [2, *[1] * 3]


def test_a_signal_stops_all_after_the_same_update(tmp_path: Path, pools: list[Any]) -> None:
    config = tiny_config("workers=2", *BOTH)
    with pytest.raises(StoppedError, match="stopped after update 2; checkpoint saved"):
        train_watched(tmp_path, config, lambda *_: signal.raise_signal(signal.SIGTERM))
    assert pools[0].processes[0].returncode is not None
    trained(tmp_path, config)
    assert [record["update"] for record in RunFolder(tmp_path).records()] == [
        2,
        3,
        4,
        6,
    ]  # every second update, and the end of an epoch


def test_what_a_process_says_when_it_fails_is_the_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(WorkerPool[Job]):
        def start(self, job: Any, arguments: Any, **options: Any) -> None:
            super().start(job, ["-c", self.code], **options)

    monkeypatch.setattr(data_parallel, "WorkerPool", Failing)
    Failing.code = "print('the loss is nan'); raise SystemExit(1)"
    with pytest.raises(WorkError, match="^the loss is nan$"):
        trained(tmp_path / "told", tiny_config("workers=2"))
    Failing.code = "raise SystemExit(3)"
    with pytest.raises(WorkError, match=r"training process 2 ended unexpectedly \(exit code 3\)"):
        trained(tmp_path / "untold", tiny_config("workers=2"))


def request(tmp_path: Path, store: TCPStore, workers: int, rank: int) -> dict[str, Any]:
    from loops import encoded

    config = tiny_config("warm_start.epochs=1", model="seq2set-simp")
    examples = encoded(config, tiny_examples())
    share = data_parallel.Share(config, (40, 4, 6), examples, examples)
    data_parallel._write_examples(tmp_path, share)
    run = RunFolder.start(tmp_path / "run", config)
    return {
        "folder": str(tmp_path),
        "run": str(run.path),
        "port": store.port,
        "workers": workers,
        "rank": rank,
        "config": config.model_dump(mode="json"),
        "sizes": [40, 4, 6],
    }


def test_a_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    store = TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
    message = json.dumps(request(tmp_path, store, 2, 1))
    command = [sys.executable, "-m", "seq2set.training.data_parallel"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(message.encode() + b"\n")
    process.stdin.flush()
    store.get("ready-1")  # it waits for the first process, which never comes
    process.stdin.close()
    assert process.wait() == 1


def tell(monkeypatch: pytest.MonkeyPatch, line: str) -> int:
    """Give a line on standard input and then close it; return the exit code."""
    reading, writing = os.pipe()
    ended = Queue[int]()

    class Input(io.StringIO):
        def fileno(self) -> int:
            return reading

    monkeypatch.setattr("sys.stdin", Input(line + "\n"))
    monkeypatch.setattr(os, "_exit", ended.put)
    data_parallel.main()
    os.write(writing, b"x")
    os.close(writing)
    codes = [ended.get(), ended.get()]
    assert codes[1] == 1  # that of the thread, which waits for the end of the input
    return codes[0]


def test_a_process_does_what_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TCPStore("127.0.0.1", 0, 1, is_master=True, wait_for_workers=False)
    assert tell(monkeypatch, json.dumps(request(tmp_path, store, 1, 0))) == 0
    assert [record["update"] for record in RunFolder(tmp_path / "run").records()] == [3]


@pytest.mark.parametrize(
    ("error", "told"), [(StoppedError("stopped"), ""), (WorkError("not finite"), "not finite\n")]
)
def test_a_process_says_why_it_failed(
    error: Exception, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(request: object) -> None:
        raise error

    monkeypatch.setattr(data_parallel, "work", fail)
    assert tell(monkeypatch, "{}") == 1
    assert capsys.readouterr().out == told


def test_how_many_processes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_parallel, "count_cores", lambda: 4)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    many = data_parallel.WORTH_WORKERS
    auto = Config(model="seq2set-simp")
    assert count_workers(auto, many, "cpu") == 4
    assert count_workers(auto, many - 1, "cpu") == 1  # too little to do
    assert count_workers(auto, many, "cuda") == 1
    small = auto.model_copy(update={"training": auto.training.model_copy(update={"batch_size": 20})})
    assert count_workers(small, many, "cpu") == 2  # 20 documents are enough for two
    assert count_workers(auto.model_copy(update={"threads": 1}), many, "cpu") == 1
    assert count_workers(auto.model_copy(update={"threads": 1, "workers": 3}), 0, "cpu") == 3
    monkeypatch.setitem(ENCODERS, "mine", EncoderKind("mine", "my_module:build"))
    mine = auto.model_copy(update={"encoder": auto.encoder.model_copy(update={"kind": "mine"})})
    assert count_workers(mine, many, "cpu") == 1  # another process would not know it
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert count_workers(auto, many, "cpu") == 1


def test_several_processes_are_for_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert choose_device(tiny_config("training.device=auto")) == "cuda"
    with pytest.raises(ConfigError, match="workers is 2; on a CUDA device it must be 1 or 'auto'"):
        choose_device(tiny_config("training.device=cuda", "workers=2"))
