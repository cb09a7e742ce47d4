"""A set of labels that go together no more than a threshold says, chosen so that many documents stay.

The correlation of two labels is phi, Pearson's coefficient of their indicator columns on the training split.
A document stays where all its labels are in the set, so that many labels alone do not help. The choice is
greedy: the set begins empty, and as long as there are labels that correlate too much with none in it, the one
comes in that brings the most documents with it, those that lack nothing but this label; in a tie, the more
frequent label. No label can be added to the set at the end.

Negative correlations are allowed, as in the paper, which speaks of the largest coefficient: labels that avoid
each other have no order among them to learn.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.corpora.correlation import phi_coefficients
from seq2set.corpora.label_table import LabelTable


class Selection(NamedTuple):
    """The labels that were chosen, and how it looks among them."""

    labels: tuple[str, ...]
    largest: float
    """The largest correlation between two of them; -1 where there are no two"""
    documents: int
    """How many documents have no other labels"""


def uncorrelated_labels(label_sets: Iterable[Iterable[str]], threshold: float) -> Selection:
    """Choose labels of the training documents whose correlations are at most `threshold`."""
    table = _table(label_sets)
    matrix = table.matrix()  # (N, L)
    phi = _correlations(matrix)
    chosen = _chosen(matrix, phi > threshold)
    names = tuple(name for name, stays in zip(table.names, chosen, strict=True) if stays)
    among = phi[np.ix_(chosen, chosen)]
    return Selection(names, float(among.max(initial=-1.0)), int((_missing(matrix, chosen) == 0).sum()))


def largest_correlation(label_sets: Iterable[Iterable[str]]) -> float:
    """Return the largest correlation between any two labels; -1 where there are no two."""
    return float(_correlations(_table(label_sets).matrix()).max(initial=-1.0))


def _table(label_sets: Iterable[Iterable[str]]) -> LabelTable:
    table = LabelTable()
    for labels in label_sets:
        table.add("train", labels)
    return table


def _correlations(matrix: csr_matrix) -> npt.NDArray[np.float64]:
    """Return phi between all labels, (L, L); the diagonal is of no interest and holds the least there is."""
    together = csr_matrix(matrix.T @ matrix).toarray().astype(np.int64)
    phi = phi_coefficients(together, matrix.shape[0])
    np.fill_diagonal(phi, -1.0)
    return phi


def _chosen(matrix: csr_matrix, conflicts: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Say which labels are in the set, (L,); no two of them are in conflict, (L, L)."""
    chosen = np.zeros(matrix.shape[1], bool)
    frequencies = np.asarray(matrix.sum(axis=0)).ravel()
    while (free := ~chosen & ~conflicts[:, chosen].any(axis=1)).any():
        brought = (_missing(matrix, chosen) == 1) @ matrix  # (N,) x (N, L) -> (L,)
        chosen[np.lexsort((frequencies, brought, free))[-1]] = True
    return chosen


def _missing(matrix: csr_matrix, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Count each document's labels that are not in the set, (N,)."""
    missing: npt.NDArray[np.int64] = matrix @ (~chosen).astype(np.int64)  # (N, L) x (L,) -> (N,)
    return missing
