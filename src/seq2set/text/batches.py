"""Documents into batches of tensors: buckets of like lengths, so that almost no padding is computed.

A document without words becomes the one word `unk` here, and counts as one word long: nothing downstream then
meets a length of zero. B documents, T words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seq2set.core.errors import InputError
from seq2set.text.vocabulary import PAD, UNK

if TYPE_CHECKING:
    import torch

WINDOW = 50
"""How many batches' worth of shuffled documents are sorted by length together."""


class Batch(NamedTuple):
    """Some documents of a split, padded to the longest of them."""

    ids: torch.Tensor  # (B, T) int64, padded with PAD
    lengths: torch.Tensor  # (B,) int64, at least 1
    index: torch.Tensor  # type: ignore[assignment]  # (B,) int64, hides tuple.index: the documents' places in the split


def collate(documents: Sequence[NDArray[Any]], index: ArrayLike) -> Batch:
    """Put the documents at the places `index` into one batch; `documents` are those of the whole split."""
    import torch  # not installed where models are only used

    places = np.array(index, dtype=np.int64)
    ids, lengths = pad_documents(documents, places)
    return Batch(torch.from_numpy(ids), torch.from_numpy(lengths), torch.from_numpy(places))


def pad_documents(
    documents: Sequence[NDArray[Any]], places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Put the documents at some places side by side; return their numbers and lengths, as in a `Batch`."""
    rows = [documents[place] if len(documents[place]) else np.array([UNK]) for place in places]
    if not rows:
        raise InputError("a batch of 0 documents cannot be made; at least one is needed")
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    ids = np.full((len(rows), lengths.max()), PAD, dtype=np.int64)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return ids, lengths


class BatchPlan(Sequence[NDArray[np.int64]]):
    """The batches of an epoch, each made when it is looked at: in memory are 4 bytes for each document."""

    def __init__(self, order: NDArray[np.int32], lengths: NDArray[Any], size: int, window: int):
        self._order, self._lengths, self._size, self._window = order, lengths, size, window
        self.turns: NDArray[np.intp] = np.arange(-(-len(order) // size))
        """Which batch comes when"""

    def __len__(self) -> int:
        return len(self.turns)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self._make(turn) for turn in self.turns[place]]
        return self._make(self.turns[place])

    def _make(self, turn: int) -> NDArray[np.int64]:
        window, batch = divmod(int(turn), self._window)
        first = window * self._window * self._size
        part = self._order[first : first + self._window * self._size]
        sizes = np.maximum(self._lengths[part], 1)
        chosen = np.argsort(sizes, kind="stable")[batch * self._size : (batch + 1) * self._size]
        return part[chosen].astype(np.int64)


def bucket_by_length(
    lengths: ArrayLike, batch_size: int, *, seed: int, epoch: int, window: int = WINDOW
) -> BatchPlan:
    """Return batches of places in the split, like lengths together; each document once, every epoch anew.

    Documents are shuffled, sorted by length within windows of `window` batches, cut, and the batches
    shuffled: the wider the window, the less padding, and the less chance in who meets whom.
    """
    if batch_size < 1 or window < 1:
        raise InputError(f"batch_size is {batch_size} and window {window}; both must be >= 1")
    generator = np.random.default_rng([seed, epoch])
    sizes = np.asarray(lengths)
    order = generator.permutation(np.arange(len(sizes), dtype=np.int32))
    plan = BatchPlan(order, sizes, batch_size, window)
    plan.turns = generator.permutation(len(plan))
    return plan


def shard(batches: Sequence[NDArray[np.int64]], rank: int, world: int) -> list[NDArray[np.int64]]:
    """Return one process's part of each batch, for training on `world` processes in step.

    Every `world`-th document, so that the parts are of like lengths too. Where a batch has fewer documents
    than there are processes, those left over take its first one: no process may miss a step.
    """
    if not 0 <= rank < world:
        raise InputError(f"rank is {rank}; it must lie in [0, {world - 1}], for {world} processes")
    return [batch[rank::world] if rank < len(batch) else batch[:1] for batch in batches]
