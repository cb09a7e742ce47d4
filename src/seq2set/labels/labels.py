"""Labels as numbers in descending training frequency, the tree that they may form, and the order to learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import ConfigError, CorpusError, ModelFolderError
from seq2set.core.sparse import SparseRows

if TYPE_CHECKING:
    from scipy import sparse


class Labels:
    """The labels of the training split: number 0 is the most frequent one."""

    def __init__(self, names: Iterable[str], frequencies: Iterable[int]):
        self.names, self.frequencies = tuple(names), tuple(frequencies)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    @classmethod
    def build(cls, label_sets: Iterable[Iterable[str]]) -> Labels:
        """Count in how many documents each label occurs, and number them."""
        counts = Counter(label for labels in label_sets for label in set(labels))
        if not counts:
            raise CorpusError("the training split has no label at all; at least one document needs a label")
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls((name for name, _ in ranked), (count for _, count in ranked))

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int | None:
        """Return the number of a label, or nothing where training never saw it."""
        return self._numbers.get(name)

    def rows(self, label_sets: Iterable[Iterable[str]]) -> SparseRows:
        """Return the label sets as rows (documents, labels); labels that training never saw are left out."""
        known = self._numbers
        sets = ({known[name] for name in labels if name in known} for labels in label_sets)
        return SparseRows.from_sets(sets, len(self))

    def indicator(self, label_sets: Iterable[Iterable[str]]) -> sparse.csr_matrix[np.bool_]:
        """Do the same as SciPy's matrix, for training."""
        return self.rows(label_sets).to_scipy()

    def with_unseen(self, label_sets: Iterable[Iterable[str]]) -> Labels:
        """Add the labels that training never saw, behind those that it saw: nobody can give them."""
        unseen = sorted({name for labels in label_sets for name in labels if name not in self._numbers})
        return Labels((*self.names, *unseen), (*self.frequencies, *(0 for _ in unseen)))

    def decode(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Return the names of label numbers, in the order given."""
        return tuple(self.names[number] for number in numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return what `labels.json` holds."""
        return {"names": list(self.names), "frequencies": list(self.frequencies)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Labels:
        """Read back what `to_dict` gave."""
        names: Any = values.get("names") if isinstance(values, Mapping) else None
        frequencies: Any = values.get("frequencies") if isinstance(values, Mapping) else None
        if not (_are_all(str, names) and _are_all(int, frequencies) and len(names) == len(frequencies)):
            seen = sorted(values) if isinstance(values, Mapping) else type(values).__name__
            raise ModelFolderError(
                f"the labels hold {seen}; they must hold names and as many whole-number frequencies"
            )
        if not names or any(not 0 <= one < 2**53 for one in frequencies):
            raise ModelFolderError("there are no labels, or their frequencies are impossible")
        if len(set(names)) < len(names):
            raise ModelFolderError("the labels name one label twice; each must stand there once")
        return cls(names, frequencies)


def _are_all(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)


@dataclass(frozen=True)
class LabelTree:
    """Each label's parent; None for the labels at the top."""

    parents: Mapping[str, str | None]

    @classmethod
    def build(cls, parents: Mapping[str, str | None]) -> LabelTree:
        """Build a tree in which parents that stand under nothing are at the top."""
        tops = {parent: None for parent in parents.values() if parent is not None and parent not in parents}
        return cls({**parents, **tops})

    def depth(self, label: str) -> int:
        """Count the labels above `label`; a label that is not in the tree stands at the top."""
        return sum(1 for _ in self.ancestors(label))

    def ancestors(self, label: str) -> Iterator[str]:
        """Yield the labels above `label`, from its parent up to the top."""
        above = self.parents.get(label)
        while above is not None:
            yield above
            above = self.parents.get(above)

    def sort_parents_first(self, labels: Iterable[str]) -> tuple[str, ...]:
        """Put each label after the labels above it, and otherwise leave the order as it is."""
        return tuple(sorted(labels, key=self.depth))

    def find_cycle(self) -> str | None:
        """Return a label that stands above itself, or None where this is a tree indeed."""
        settled: set[str | None] = {None}
        for label in self.parents:
            trail: dict[str, None] = {}  # a list would be searched from its beginning each time
            above: str | None = label
            while above is not None and above not in settled:
                if above in trail:
                    return above
                trail[above] = None
                above = self.parents.get(above)
            settled.update(trail)
        return None


Ints = npt.NDArray[np.int64]


def rank_labels(kind: str, names: Sequence[str], given: Sequence[str], depths: Mapping[str, int]) -> Ints:
    """Return each label's rank in the order: the label of rank 0 comes first.

    `names` are the labels in descending frequency; `depths` says how deep each stands in the label tree.
    """
    size = len(names)
    if kind == "ascending":
        return np.arange(size - 1, -1, -1)
    if kind == "tree":
        if not depths:
            raise ConfigError(["label_order.kind is 'tree'; the corpus must have a label tree for it"])
        # A stable sort: labels of one depth stay in descending frequency.
        order = np.argsort([depths.get(name, 0) for name in names], kind="stable")
        return np.argsort(order)  # which inverts a permutation, as below
    if kind == "given":
        if not given:
            raise ConfigError(["label_order.kind is 'given'; label_order.given must name the labels"])
        if not set(given) & set(names):
            raise ConfigError(
                [f"label_order.given begins with '{given[0]}'; it must name labels of the training split"]
            )
        places = {name: place for place, name in enumerate(given)}
        return np.argsort(np.argsort([places.get(name, len(places)) for name in names], kind="stable"))
    return np.arange(size)


def order_labels(labels: Ints, rank: Ints, shuffle: np.random.Generator | None = None) -> Ints:
    """Put one document's labels in order, or shuffle them."""
    return labels[np.argsort(rank[labels])] if shuffle is None else shuffle.permutation(labels)
