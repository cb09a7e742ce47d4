"""Small decoders on random documents, and policies read from a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from seq2set.nn.attention import Source
from seq2set.nn.decoder import AttentionDecoder, DecoderPolicy
from seq2set.nn.decoding.prefixes import Ints, Reals, StepOutput


def random_world(
    labels: int = 4,
    documents: int = 3,
    *,
    seed: int = 0,
    sharpness: float = 2.0,
    sources: tuple[int, ...] = (3,),
    layers: int = 1,
    places: int = 5,
    dtype: torch.dtype = torch.float32,
) -> DecoderPolicy:
    """A decoder of random weights bound to random documents of different lengths."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        decoder = AttentionDecoder(labels, 3, 6, sources=sources, start=4, layers=layers).to(dtype)
        for weight in decoder.parameters():
            weight.data = torch.randn_like(weight) * sharpness / max(1, weight.shape[-1]) ** 0.5
        start = torch.randn(documents, 4, dtype=dtype)
        bound = [_source(documents, places, size, dtype) for size in sources]
        return decoder.bind(start, bound)


def _source(documents: int, places: int, size: int, dtype: torch.dtype) -> Source:
    lengths = torch.randint(1, places + 1, (documents, 1))
    values = torch.randn(documents, places, size, dtype=dtype)
    return Source(values, torch.arange(places) < lengths)


@pytest.fixture
def world() -> Callable[..., DecoderPolicy]:
    return random_world


class TableState(NamedTuple):
    prefix: Tensor
    """(B, K, 1) the symbols read so far, as one number."""

    @property
    def output(self) -> Tensor:
        return self.prefix.float()

    @property
    def features(self) -> Tensor:
        return self.prefix

    @property
    def attention(self) -> tuple[Tensor, ...]:
        return ()

    def map(self, change: Callable[[Tensor], Tensor]) -> TableState:
        return TableState(change(self.prefix))


@dataclass(frozen=True)
class TablePolicy:
    """A policy for one or more equal documents that knows the probabilities after each sequence by heart."""

    labels: int
    table: Mapping[tuple[int, ...], tuple[float, ...]]
    documents: int = 1
    keys: None = None

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def start(self) -> TableState:
        return TableState(torch.zeros(self.documents, 1, 1, dtype=torch.long))

    def advance(self, state: TableState, previous: Tensor) -> TableState:
        read = torch.where(previous < self.labels, previous + 1, 0)[..., None]
        return TableState(state.prefix * (self.labels + 1) + read)

    def logits(self, features: Tensor) -> Tensor:
        rows = [[self._after(int(code)) for code in row] for row in features[..., 0]]
        return torch.tensor(rows).log()

    def select(self, documents: Tensor) -> TablePolicy:
        return TablePolicy(self.labels, self.table, len(documents))

    def open(self) -> TableSteps:
        return TableSteps(self)

    def _after(self, code: int) -> tuple[float, ...]:
        sequence: list[int] = []
        while code:
            code, digit = divmod(code, self.labels + 1)
            sequence.insert(0, digit - 1)
        ending = (0.0,) * self.labels + (1.0,)
        return self.table.get(tuple(sequence), ending)


class TableSteps:
    """The same for the searches of prediction."""

    bias = None

    def __init__(self, policy: TablePolicy):
        self.policy, self.labels, self.documents = policy, policy.labels, policy.documents

    def start(self) -> TableState:
        return self.policy.start()

    def step(self, state: TableState, rows: Ints, documents: Ints, previous: Ints) -> StepOutput:
        taken = TableState(state.prefix[torch.from_numpy(rows)])
        assert (np.diff(documents) >= 0).all()
        following = self.policy.advance(taken, torch.from_numpy(previous)[:, None])
        return StepOutput(following, self.policy.logits(following.features)[:, 0].numpy())

    def outputs(self, state: TableState) -> Reals:
        return state.output[:, 0].numpy()


@pytest.fixture
def table() -> type[TablePolicy]:
    return TablePolicy
