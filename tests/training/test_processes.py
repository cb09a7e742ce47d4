"""Two processes do what one does with the same batches."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import torch
from ddp_worker import BOTH_PHASES, REWARDED, gradients, rewarded_gradients
from safetensors.torch import load_file

from seq2set.config.run_folder import RunFolder
from tiny_networks import tiny_config


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_two_processes_equal_one(tmp_path: Path) -> None:
    # before two processes want to begin them
    for name, settings in (("loop", ()), ("rewarded", REWARDED), ("both", BOTH_PHASES)):
        RunFolder.start(tmp_path / name, tiny_config(*settings))
    place = ["--master-addr", "127.0.0.1", "--master-port", str(free_port())]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", *place]
    threads = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "GLOO_SOCKET_IFNAME": "lo"}
    worker = Path(__file__).with_name("ddp_worker.py")
    folders = [worker.parent, worker.parent.parent, *filter(None, [os.environ.get("PYTHONPATH")])]
    helpers = {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    environment = os.environ | threads | helpers
    command = [*launcher, str(worker), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
    assert done.returncode == 0, done.stderr

    two = load_file(tmp_path / "gradients.safetensors")
    alone = {"gradients": gradients, "rewarded": rewarded_gradients}
    for name, train in alone.items():
        one = train(tmp_path / f"alone-{name}")
        assert one.shape == two[name].shape
        assert len(one) == 8
        assert one.norm(dim=1).min() > 0.1
        assert torch.allclose(one, two[name], atol=1e-5, rtol=0)
    records = RunFolder(tmp_path / "loop").records()
    assert [record["update"] for record in records] == [2, 4, 6, 8]  # written once, not twice
    # 20 documents in batches of 9 make 3 updates an epoch, and a look at the end of each.
    phases = [record["phase"] for record in RunFolder(tmp_path / "both").records()]
    assert phases == ["warm-start", "self-critical"]
