"""Which labels go together: those whose correlation on the training split reaches a threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_uppercase

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from seq2set.corpora.correlation import phi_coefficients
from seq2set.vocabulary import Labels

THRESHOLD = 0.28
"""From this correlation on labels go together: the paper's limit for labels that do not."""


class Correlated:
    """The labels of a corpus, and which of them go together."""

    def __init__(self, label_sets: Sequence[Iterable[str]], threshold: float = THRESHOLD):
        self.labels = Labels.build(label_sets)
        matrix = self.labels.indicator(label_sets).astype(np.int64)
        phi = phi_coefficients(csr_matrix(matrix.T @ matrix).toarray(), len(label_sets))
        np.fill_diagonal(phi, -1.0)
        self._together = phi >= threshold

    def pairs(self) -> list[tuple[str, str]]:
        """Return every two labels that go together, the more frequent one first."""
        found = np.argwhere(np.triu(self._together))
        return [(self.labels.names[one], self.labels.names[other]) for one, other in found]

    def groups(self, labels: Iterable[str]) -> dict[str, str]:
        """Give the same letter to labels that go together, directly or through others of those named.

        A label that goes with no other has none. Letters follow the order in which the labels are named.
        """
        numbers = {name: self.labels.index(name) for name in dict.fromkeys(labels)}
        names = [name for name, number in numbers.items() if number is not None]
        places = np.array([numbers[name] for name in names], np.int64)
        if not names:
            return {}
        _, parts = connected_components(self._together[np.ix_(places, places)], directed=False)
        sizes = np.bincount(parts, minlength=1)
        large = [part for part in dict.fromkeys(parts.tolist()) if sizes[part] > 1]
        letters = {part: ascii_uppercase[place % 26] for place, part in enumerate(large)}
        return {
            name: letters[part] for name, part in zip(names, parts.tolist(), strict=True) if part in letters
        }
