"""A tree of labels, such as RCV1's topics: which label stands above which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


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

    def to_dict(self) -> dict[str, str | None]:
        """Return the tree as corpus.json holds it: label to parent, null at the top."""
        return dict(self.parents)
