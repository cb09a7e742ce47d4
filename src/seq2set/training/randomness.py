"""Random numbers that depend on the seed, the update and the process alone.

A resumed run thus draws the numbers that the uninterrupted one would have drawn, on any device and in any
number of processes, without a stored state.
"""

from __future__ import annotations

import numpy as np
import torch


def reseed(sampling: torch.Generator, seed: int, update: int, process: int = 0) -> None:
    """Set the global generators, which dropout uses, and the one that sequences are sampled with."""
    left_out, drawn = np.random.SeedSequence([seed, update, process]).generate_state(2, np.uint32).tolist()
    torch.manual_seed(left_out)
    sampling.manual_seed(drawn)
