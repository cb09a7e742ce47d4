"""The loop around a tiny network, with validation scores that a test makes up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from scipy.sparse import csr_matrix
from torch import Tensor

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.config.schema import TrainingSettings
from seq2set.core.progress import Progress, Silent
from seq2set.labels.labels import Labels
from seq2set.models.tagger import Examples
from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.rollout import Rollout
from seq2set.nn.decoding.teacher_forcing import score_sequences
from seq2set.text.vocabulary import Words
from seq2set.training.examples import EncodedExamples, encode_examples
from seq2set.training.learning_rates import PhasePlan
from seq2set.training.step import TrainingStep
from seq2set.training.trainer import Trainer
from seq2set.training.validation import Validation
from tiny_networks import tiny_config, tiny_examples, tiny_network

WARM, CRITICAL = PhasePlan("warm-start", 1, 0.01, 0.5), PhasePlan("self-critical", 1, 0.001, 0.5)


def encoded(config: Config, examples: Examples) -> EncodedExamples:
    labels = Labels.build(examples.label_sets)
    settings: dict[str, Any] = config.text.model_dump() | {"vocabulary_size": 100}
    return encode_examples(examples, config, Words.build(examples.texts, **settings), labels, None)


def all_known(examples: EncodedExamples) -> Validation:
    """Validate on documents of which all words and labels are known."""
    gold = examples.batch(np.arange(len(examples))).gold.numpy()
    return Validation(examples, csr_matrix(gold), np.ones(len(examples), bool))


def new_loop(
    folder: Path,
    validate: Callable[[], float],
    phases: list[PhasePlan],
    *,
    config: Config | None = None,
    progress: Progress | None = None,
    fabric: Fabric | None = None,
    count: int = 20,
    **changes: float | str,
) -> Trainer:
    """A loop over 20 documents in batches of 4, unless changed: 5 updates an epoch."""
    config = config or tiny_config()
    search = str(changes.pop("search", "greedy"))
    settings: dict[str, Any] = {"batch_size": 4, "validate_every": 2} | changes
    return Trainer(
        TrainingStep(tiny_network(config), config),
        encoded(config, tiny_examples(count)),
        validate,
        phases,
        TrainingSettings(**settings),
        RunFolder.start(folder, config, resume=True),
        progress or Silent(),
        fabric or Fabric(accelerator="cpu", devices=1),
        seed=1,
        search=search,
    )


def weights(loop: Trainer) -> Tensor:
    """All weights of a loop's network, in one row."""
    return torch.cat([value.flatten() for value in loop.network.state_dict().values()]).clone()


def gradient_of(adam: torch.optim.Optimizer) -> Tensor:
    """All gradients of an update, in one row."""
    return torch.cat([weight.grad.flatten() for weight in adam.param_groups[0]["params"]])


def gradients_of(loop: Trainer) -> Tensor:
    """Run a loop, and return the gradients of its updates (updates, weights) as they were applied.

    Adam makes much of rounding where a gradient is almost 0, so that two runs that do the same are told by
    their gradients rather than by their weights.
    """
    seen: list[Tensor] = []
    loop.adam.register_step_pre_hook(lambda adam, *_: seen.append(gradient_of(adam)))
    loop.run()
    return torch.stack(seen)


DRAWN = ((0,), (1, 2), (3, 0, 1), ())
"""Sequences that stand in for samples."""


def drawn_alike(policy: DecoderPolicy, *, samples: int, **_: object) -> Rollout:
    """Give every document the same sequences in the place of samples, whatever part or process it is in."""
    rows = torch.tensor([[*one, *[policy.labels + 2] * (3 - len(one))] for one in DRAWN[:samples]])
    every = rows.expand(policy.documents, -1, -1)
    return Rollout(every, (every < policy.labels).sum(-1), score_sequences(policy, every).steps)


class Scripted:
    """Gives one score after another, and keeps the weights that each was given to."""

    def __init__(self, scores: list[float]):
        self.scores, self.seen = list(scores), list[Tensor]()
        self.loop: Trainer | None = None

    def __call__(self) -> float:
        assert self.loop is not None
        self.seen.append(weights(self.loop))
        return self.scores[len(self.seen) - 1]

    def watching(self, loop: Trainer) -> Trainer:
        self.loop = loop
        return loop
