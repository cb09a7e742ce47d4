from __future__ import annotations

import torch

from seq2set.training.trainer import reseed


def drawn(seed: int, update: int, process: int) -> tuple[float, float]:
    sampling = torch.Generator()
    torch.manual_seed(99)
    reseed(sampling, seed, update, process)
    return torch.rand(1).item(), torch.rand(1, generator=sampling).item()


def test_seed_update_and_process_give_the_numbers() -> None:
    assert drawn(1, 5, 0) == drawn(1, 5, 0)
    everything = [drawn(*case) for case in ((1, 5, 0), (1, 6, 0), (2, 5, 0), (1, 5, 1))]
    assert len({number for pair in everything for number in pair}) == 8
