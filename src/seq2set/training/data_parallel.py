"""Data parallelism on one machine: processes of one thread each that train a network in step.

Several threads stall each other as soon as another process wants a core; several processes do not. The
process that was asked to train is the first of them: it prepares the examples, starts the others, hands them
the examples in files, and alone writes to the run folder and answers the user. The others compute their
share of every batch. They have nothing to save, so each ends at once when the first one does: its standard
input is a pipe that the first one holds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from lightning_fabric import Fabric
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from seq2set.config import Config, validate
from seq2set.config.catalog import ENCODERS, REWARDS, SEARCHES, find_model
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError, InputError, Seq2SetError, StoppedError, WorkError
from seq2set.core.files import report_output_errors
from seq2set.core.flat_arrays import StoredLists
from seq2set.core.hardware import count_cores
from seq2set.core.processes import EndedWorker, WorkerPool, set_environment
from seq2set.training.examples import EncodedExamples

WORTH_WORKERS = 4_000
"""How many documents must be read, over all epochs, for the start of other processes to pay."""

FEWEST_DOCUMENTS = 8
"""Documents of a batch that a process must have for itself to be worth having."""

LOOPBACK = "127.0.0.1"


def choose_device(config: Config) -> str:
    """Return where to train, or say that it is not there."""
    device = config.training.device
    if device not in ("auto", "cpu", "cuda"):
        raise InputError(f"training.device is '{device}'; it must be 'auto', 'cpu' or 'cuda'")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("training.device is 'cuda', but there is no CUDA device here; use 'cpu' or 'auto'")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and config.workers not in (1, "auto"):
        raise ConfigError([f"workers is {config.workers}; on a CUDA device it must be 1 or 'auto'"])
    return device


def count_workers(config: Config, documents: int, device: str) -> int:
    """Return in how many processes to train on `documents`, counted once per epoch, in all.

    `auto` is one per core where `threads` is `auto` too; a number of threads asks for that much of the
    machine. There is one where a launcher or somebody's pool started this process, where too little is to be
    done, and where the settings name code that another process would not find.
    """
    if "WORLD_SIZE" in os.environ or device != "cpu":
        return 1
    if config.workers != "auto":
        return config.workers
    alone = config.threads != "auto" or multiprocessing.parent_process() is not None
    if alone or documents < WORTH_WORKERS or not _is_packaged(config):
        return 1
    return max(1, min(count_cores(), config.training.batch_size // FEWEST_DOCUMENTS))


def _is_packaged(config: Config) -> bool:
    model = find_model(config.model)
    places = (model.network, ENCODERS[config.encoder.kind].build, SEARCHES[config.search.name].find)
    return all(place.startswith("seq2set.") for place in (*places, REWARDS[config.objective.reward].of))


def start_fabric(config: Config, workers: int = 1) -> Fabric:
    """Start what the loop runs on: a device, a precision, and processes of torchrun or `join_group`."""
    local = int(os.environ.get("LOCAL_WORLD_SIZE", workers))
    processes = int(os.environ.get("WORLD_SIZE", workers))
    fabric = Fabric(
        accelerator=choose_device(config),
        devices=local,
        num_nodes=max(1, processes // local),
        strategy="ddp" if processes > 1 else "auto",
        precision=config.training.precision,
    )
    fabric.launch()
    return fabric


class Share(NamedTuple):
    """What the processes train together."""

    config: Config
    sizes: tuple[int, int, int]
    """words, labels, and the most labels of a set"""
    learn: EncodedExamples
    tune: EncodedExamples


@contextmanager
def start_group(share: Share, workers: int, run: RunFolder) -> Iterator[Fabric]:
    """Start the other processes and be the first; whichever fails, all end, with a sentence."""
    if workers == 1:
        yield start_fabric(share.config)
        return
    store = TCPStore(LOOPBACK, 0, workers, is_master=True, wait_for_workers=False)
    with WorkerPool[int](workers - 1) as pool:
        # Gone as soon as every process has opened the files, so that no end leaves them there.
        with tempfile.TemporaryDirectory(prefix=".examples-", dir=run.path) as folder:
            with report_output_errors(Path(folder)):
                _write_examples(Path(folder), share)
            request = {"folder": folder, "run": str(run.path), "port": store.port, "workers": workers}
            request |= {"config": share.config.model_dump(mode="json"), "sizes": share.sizes}
            for rank in range(1, workers):
                message = json.dumps(request | {"rank": rank})
                pool.start(rank, ["-m", "seq2set.training.data_parallel"], message=message)
            while not store.check([f"ready-{rank}" for rank in range(1, workers)]):
                if ended := pool.wait(0.1):
                    raise _describe_end(ended[0])
        try:
            yield join_group(share.config, store, 0, workers)
        except RuntimeError as error:  # the connection to a process that ended
            if not (ended := pool.wait(10)):
                raise
            raise _describe_end(ended[0]) from error
        finally:
            dist.destroy_process_group()


def _describe_end(ended: EndedWorker[int]) -> WorkError:
    return WorkError(
        ended.output.strip()
        or f"training process {ended.job + 1} ended unexpectedly (exit code {ended.code}); "
        "rerun with --resume, or with --set workers=1"
    )


def join_group(config: Config, store: TCPStore, rank: int, workers: int) -> Fabric:
    """Join the processes that train together, on this machine alone."""
    loopback = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "")
    with set_environment(GLOO_SOCKET_IFNAME=loopback, LOCAL_RANK=str(rank)):
        dist.init_process_group("gloo", store=store, rank=rank, world_size=workers)
        return start_fabric(config, workers)


def _write_examples(folder: Path, share: Share) -> None:
    for name, part in (("learn", share.learn), ("tune", share.tune)):
        for column, rows in (("words", part.words), ("sequences", part.sequences)):
            assert isinstance(rows, StoredLists)  # those of `encode_examples`
            rows.copy_to(folder, f"{name}-{column}")
        if part.margins is not None:
            np.save(folder / f"{name}-margins.npy", part.margins)


def _read_examples(folder: Path, name: str, labels: int) -> EncodedExamples:
    words, sequences = (StoredLists.open(folder, f"{name}-{column}") for column in ("words", "sequences"))
    margins = folder / f"{name}-margins.npy"
    names = [f"document {place}" for place in range(1, len(words) + 1)]
    return EncodedExamples(
        words, sequences, labels, names, np.load(margins, mmap_mode="r") if margins.is_file() else None
    )


def work(request: dict[str, Any]) -> None:
    """Train as one of the processes that are not the first."""
    from seq2set.training.train_network import train_share

    config, (words, labels, most) = validate(request["config"]), request["sizes"]
    learn, tune = (_read_examples(Path(request["folder"]), name, labels) for name in ("learn", "tune"))
    share = Share(config, (words, labels, most), learn, tune)
    store = TCPStore(LOOPBACK, request["port"], request["workers"], is_master=False)
    store.set(f"ready-{request['rank']}", "yes")
    fabric = join_group(config, store, request["rank"], request["workers"])
    train_share(share, fabric, RunFolder(Path(request["run"])))


def _end_with(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os._exit(1)


def main() -> None:
    """Do what the first line of standard input says, until it is done or standard input is closed."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    try:
        work(request)
    except Seq2SetError as error:
        if not isinstance(error, StoppedError):
            sys.stdout.write(f"{error}\n")
            sys.stdout.flush()
        # Here, and not at the end: taking the connection down can wait for the others for ever.
        os._exit(error.exit_code)
    else:
        os._exit(0)


if __name__ == "__main__":
    main()
