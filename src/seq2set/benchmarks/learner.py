"""A network at the paper's sizes for AAPD that emits sets of realistic sizes.

A decoder with random weights hardly ever ends: its samples hold dozens of labels, and what they cost says
nothing about training. `settle` therefore first trains the whole network by likelihood, with the very step
that is measured, on other documents of the same make. They are cut to a few words, which makes it quick: the
first word tells how many labels there are. What the sets are like on the whole documents of the benchmark is
measured and reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from seq2set.benchmarks.documents import Shape, made_documents
from seq2set.config import build_config
from seq2set.models.building import build_network
from seq2set.nn.decoding import greedy, sample
from seq2set.training.examples import TrainingBatch
from seq2set.training.step import Objective, Phase, Step

PRESET = "paper-aapd"
MODELS = ("seq2set-simp", "seq2set")
"""The models that are measured."""

CUT = 8
"""How many words of a document are read while the sizes of sets are learned."""

POOL = 2_000
"""How many documents that is learned from: so many that they are not learned by heart."""


@dataclass(frozen=True)
class Learner:
    """A network with all that an update needs."""

    step: Step
    optimizer: torch.optim.Optimizer
    clip_norm: float
    batch_size: int
    generator: torch.Generator

    def update(self, batch: TrainingBatch, phase: Phase) -> None:
        """One update as the trainer makes it: forward, backward, clipping, Adam."""
        self.step(batch, phase, self.generator).total.backward()
        torch.nn.utils.clip_grad_norm_(self.step.parameters(), self.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def settle(self, shape: Shape, updates: int, rate: float = 1e-3) -> None:
        """Learn from short documents how many labels there are, at a learning rate that makes it quick."""
        usual = [group["lr"] for group in self.optimizer.param_groups]
        self._set_rates([rate] * len(usual))
        cut = shape._replace(shortest=min(CUT, shape.shortest), longest=min(CUT, shape.longest))
        examples, random = made_documents(POOL, cut, seed=3), np.random.default_rng(1)
        for _ in range(updates):
            self.update(examples.batch(random.choice(POOL, self.batch_size, replace=False)), "warm-start")
        self._set_rates(usual)

    @torch.no_grad()
    def set_sizes(self, batch: TrainingBatch) -> dict[str, Any]:
        """Say how many labels greedy and sampled sets have, and how many the longest sample."""
        policy = self.step.network(batch.ids, batch.lengths, batch.margins).final
        drawn = sample(policy, generator=self.generator).lengths
        return {
            "greedy_labels": round(float(greedy(policy).lengths.float().mean()), 2),
            "sampled_labels": round(float(drawn.float().mean()), 2),
            "longest_sample": int(drawn.max()),
        }

    def _set_rates(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate


def new_learner(model: str, shape: Shape, settings: Sequence[str] = ()) -> Learner:
    """Build a network with random weights at the preset's sizes; `settings` (`a.b=v`) change them."""
    config = build_config(preset=PRESET, model=model, assignments=settings)
    torch.manual_seed(config.seed)
    step = Step(build_network(config, shape.vocabulary + 2, shape.labels), Objective.of(config))
    adam = torch.optim.Adam(step.parameters(), lr=config.self_critical.learning_rate, fused=True)
    training = config.training
    return Learner(step, adam, training.clip_norm, training.batch_size, torch.Generator().manual_seed(1))
