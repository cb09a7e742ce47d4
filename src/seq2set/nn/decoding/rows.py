"""Which rows of a search are still there, once ended ones have left.

The rows of a search are a grid, documents by hypotheses, so that the hypotheses of a document share its
memory. A document leaves when all its hypotheses have ended; in the others the live ones move together, and
the grid becomes as narrow as the document with the most of them allows.

Letters: B documents, K hypotheses a document; B' and K' of them still there.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


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
