"""What the searches need of a decoder, and how a search begins.

Letters: B documents, K hypotheses per document, L labels, D features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from seq2set.core.errors import InputError
from seq2set.nn.decoder import Symbols


class State(Protocol):
    """Where a decoder stands; all its tensors begin with (B, K)."""

    @property
    def output(self) -> Tensor:
        """The state s_t that others may attend to, (B, K, H)."""
        ...

    @property
    def features(self) -> Tensor:
        """What the logits are computed from, (B, K, D)."""
        ...

    @property
    def attention(self) -> tuple[Tensor, ...]:
        """The weights over each source, (B, K, T)."""
        ...

    def map(self: S, change: Callable[[Tensor], Tensor]) -> S:
        """Apply a change of rows to all tensors."""
        ...


S = TypeVar("S", bound=State)


class Policy(Protocol[S]):
    """A decoder bound to a batch of documents: the one step function of all searches."""

    @property
    def labels(self) -> int:
        """How many labels there are."""
        ...

    @property
    def documents(self) -> int:
        """How many documents there are."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the documents are."""
        ...

    def start(self) -> S:
        """Return the state before `bos` is read, one hypothesis per document."""
        ...

    def advance(self, state: S, previous: Tensor) -> S:
        """Read one symbol (B, K) a hypothesis."""
        ...

    def logits(self, features: Tensor) -> Tensor:
        """Score the labels and `eos`: (B, n, D) -> (B, n, L + 1)."""
        ...

    def select(self, documents: Tensor) -> Policy[S]:
        """Keep the documents of these numbers."""
        ...


def begin(policy: Policy[S], hypotheses: int) -> S:
    """Read `bos`: the state that emits the first label is the same for all hypotheses of a document."""
    state = policy.start()
    bos = torch.full((policy.documents, 1), Symbols(policy.labels).bos, device=policy.device)
    return policy.advance(state, bos).map(lambda part: part.expand(-1, hypotheses, -1))


def new_mask(policy: Policy[S], hypotheses: int) -> Tensor:
    """Return the mask (B, K, L + 1) of eq. 7 before the first step."""
    outputs = Symbols(policy.labels).outputs
    return torch.zeros(policy.documents, hypotheses, outputs, dtype=torch.bool, device=policy.device)


def limit_steps(policy: Policy[S], max_steps: int | None) -> int:
    """Say how many labels a search may emit."""
    if max_steps is not None and max_steps < 1:
        raise InputError(f"max_steps is {max_steps}; it must be >= 1")
    return policy.labels if max_steps is None else min(max_steps, policy.labels)
