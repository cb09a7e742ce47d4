"""One process of a distributed training, as torchrun starts it; the first one leaves what the test reads."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

import torch
from loops import CRITICAL, WARM, drawn_alike, gradients_of, new_loop
from safetensors.torch import save_file

from seq2set.training.data_parallel import start_fabric
from tiny_networks import tiny_config, trained

BOTH_PHASES = (
    "self_critical.epochs=1",
    "encoder.dropout=0.2",
    "training.accumulate=2",
    "training.batch_size=9",
)

REWARDED = ("objective.reward=micro_f1", "objective.samples=3", "objective.baseline=greedy")


def gradients(folder: Path) -> torch.Tensor:
    """Train on 13 documents in batches of 4: in a batch of one the second process has nothing of its own."""
    fabric, plan = start_fabric(tiny_config()), [WARM._replace(epochs=2)]
    return gradients_of(new_loop(folder, lambda: 0.5, plan, fabric=fabric, count=13))


def rewarded_gradients(folder: Path) -> torch.Tensor:
    """Train by the reward that looks at the run so far, with samples that are the same in any process."""
    config = tiny_config(*REWARDED)
    with patch("seq2set.training.step.sample", drawn_alike):
        loop = new_loop(
            folder,
            lambda: 0.5,
            [CRITICAL._replace(epochs=2)],
            config=config,
            fabric=start_fabric(config),
            count=13,
        )
        return gradients_of(loop)


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    found = {"gradients": gradients(folder / "loop"), "rewarded": rewarded_gradients(folder / "rewarded")}
    if start_fabric(tiny_config()).is_global_zero:
        save_file(found, folder / "gradients.safetensors")
    trained(folder / "both", tiny_config(*BOTH_PHASES))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
