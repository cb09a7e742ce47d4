"""What the searches need of a decoder.

Letters: B documents, K hypotheses per document, L labels, D features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import torch
from torch import Tensor


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
