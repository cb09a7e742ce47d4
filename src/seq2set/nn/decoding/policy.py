"""The numbers that stand for the ends of a label sequence, beside the labels 0 .. L-1 themselves.

`eos` comes right after the labels, so that a decoder's outputs are the first L + 1 symbols; `bos` and `pad`
come after it and so can be read but never be generated.

What the searches need of a decoder, and the mask of labels already emitted (eq. 7).

Letters: B documents, K hypotheses a document, L labels, D features.

Which rows of a search are still there, once ended ones have left.

The rows of a search are a grid, documents by hypotheses, so that the hypotheses of a document share its
memory. A document leaves when all its hypotheses have ended; in the others the live ones move together, and
the grid becomes as narrow as the document with the most of them allows.

Letters: B documents, K hypotheses a document; B' and K' of them still there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from seq2set.core.errors import InputError


class Symbols(NamedTuple):
    """The symbols of a label space of `labels` labels."""

    labels: int

    @property
    def eos(self) -> int:
        """The end of a sequence."""
        return self.labels

    @property
    def bos(self) -> int:
        """What is read before the first label."""
        return self.labels + 1

    @property
    def pad(self) -> int:
        """What stands where there is nothing."""
        return self.labels + 2

    @property
    def outputs(self) -> int:
        """How many symbols can be generated: the labels and `eos`."""
        return self.labels + 1

    @property
    def inputs(self) -> int:
        """How many symbols can be read: all of them."""
        return self.labels + 3


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
        """Return the state before `bos` is read, one hypothesis a document."""
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


def opened(policy: Policy[S], hypotheses: int) -> S:
    """Read `bos`: the state that emits the first label is the same for all hypotheses of a document."""
    state = policy.start()
    bos = torch.full((policy.documents, 1), Symbols(policy.labels).bos, device=policy.device)
    return policy.advance(state, bos).map(lambda part: part.expand(-1, hypotheses, -1))


def masked_log_probs(logits: Tensor, emitted: Tensor) -> Tensor:
    """Give log-probabilities (.., L + 1) in which an emitted label has none: eq. 6; at least in 32 bits."""
    exact = torch.promote_types(logits.dtype, torch.float32)
    return torch.log_softmax(logits.masked_fill(emitted, float("-inf")), -1, dtype=exact)


def nothing_emitted(policy: Policy[S], hypotheses: int) -> Tensor:
    """Return the mask (B, K, L + 1) of eq. 7 before the first step."""
    outputs = Symbols(policy.labels).outputs
    return torch.zeros(policy.documents, hypotheses, outputs, dtype=torch.bool, device=policy.device)


def with_emitted(emitted: Tensor, symbols: Tensor) -> Tensor:
    """Add symbols (B, K) to the mask (B, K, L + 1); `eos` and what comes after it stay allowed."""
    eos = emitted.shape[-1] - 1
    marked = emitted.scatter(-1, symbols.clamp(max=eos)[..., None], True)
    marked[..., eos] = False
    return marked


def step_limit(policy: Policy[S], max_steps: int | None) -> int:
    """Say how many labels a search may emit."""
    if max_steps is not None and max_steps < 1:
        raise InputError(f"max_steps is {max_steps}; it must be >= 1")
    return policy.labels if max_steps is None else min(max_steps, policy.labels)


def narrowed(policy: Policy[S], documents: Tensor) -> Policy[S]:
    """Keep these documents, without copies where they are all."""
    return policy if len(documents) == policy.documents else policy.select(documents)


class Rows(NamedTuple):
    """The rows still there, by their numbers in the whole grid."""

    documents: Tensor
    """(B',)"""
    hypotheses: Tensor
    """(B', K')"""

    def spread(self, part: Tensor, whole: Tensor) -> Tensor:
        """Put values (B', K', ..) into their places in `whole` (B, K, ..)."""
        if part.shape == whole.shape:
            return part
        return whole.index_put((self.documents[:, None], self.hypotheses), part)


class Regrouping(NamedTuple):
    """Which rows stay, by their numbers in the grid as it was."""

    documents: Tensor
    """(B',)"""
    hypotheses: Tensor
    """(B', K')"""

    def taken(self, part: Tensor) -> Tensor:
        """Take values (B', K', ..) out of those of the grid as it was."""
        return part[self.documents[:, None], self.hypotheses]

    def of(self, rows: Rows) -> Rows:
        """Say which rows of the whole grid these are."""
        return Rows(rows.documents[self.documents], self.taken(rows.hypotheses))


def all_rows(documents: int, hypotheses: int, device: torch.device) -> Rows:
    """Return the rows of a search that begins."""
    grid = torch.arange(hypotheses, device=device).expand(documents, -1)
    return Rows(torch.arange(documents, device=device), grid)


def worth_leaving(live: int, rows: int) -> bool:
    """Say whether so few rows are needed that copying them out pays."""
    return 0 < live <= 0.75 * rows


def regrouping(finished: Tensor) -> Regrouping | None:
    """Say which rows stay when ended ones (B, K) leave, or nothing where it does not pay."""
    live = (~finished).sum(1)  # (B,)
    documents = live.nonzero()[:, 0]
    width = int(live.max())
    if not worth_leaving(len(documents) * width, finished.numel()):
        return None
    order = finished[documents].int().argsort(dim=1, stable=True)
    return Regrouping(documents, order[:, :width])
