"""A tree of labels, such as RCV1's topics: what stands above what.

Two forms of file are read: `parent: X child: Y child-description: Z`, one child a line (the form of the
LYRL2004 distribution), and a parent followed by its children, separated by tabs. The root, called
`Root` in both, is no label and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.corpora.readers.streams import NumberedLine, numbered_lines

_ROOT = "Root"
_ONE_CHILD = re.compile(r"\s*parent:\s*(\S+)\s+child:\s*(\S+)")


class _Edge(NamedTuple):
    parent: str
    child: str


@dataclass(frozen=True)
class LabelTree:
    """Each label's parent; None for the labels at the top."""

    parents: Mapping[str, str | None]

    def depth(self, label: str) -> int:
        """Count the labels above `label`; a label that is not in the tree stands at the top."""
        return sum(1 for _ in self.ancestors(label))

    def ancestors(self, label: str) -> Iterator[str]:
        """Give the labels above `label`, from its parent up to the top."""
        above = self.parents.get(label)
        while above is not None:
            yield above
            above = self.parents.get(above)

    def parents_first(self, labels: Iterable[str]) -> tuple[str, ...]:
        """Put each label after the labels above it, and otherwise leave the order as it is."""
        return tuple(sorted(labels, key=self.depth))

    def as_notes(self) -> dict[str, str | None]:
        """Return the tree as corpus.json holds it: label to parent, null at the top."""
        return dict(self.parents)


def read_tree(path: Path, encoding: str = "utf-8") -> LabelTree:
    """Read a tree in either form."""
    parents: dict[str, str | None] = {}
    for line in numbered_lines(path, encoding):
        for edge in _edges(line, path):
            if edge.child in parents:
                raise CorpusError(f"'{edge.child}' has two parents; a tree is wanted", path, line.number)
            parents[edge.child] = None if edge.parent == _ROOT else edge.parent
    return LabelTree(_checked(parents, path))


def _edges(line: NumberedLine, path: Path) -> list[_Edge]:
    if not line.text.strip():
        return []
    if match := _ONE_CHILD.match(line.text):
        parent, children = match[1], [match[2]]
    else:
        parent, *children = (name.strip() for name in line.text.strip().split("\t"))
        if not children:
            raise CorpusError(
                f"the line is '{line.text.strip()[:60]}'; it must be a parent and its children between tabs, "
                "or 'parent: X child: Y'",
                path,
                line.number,
            )
    return [_Edge(parent, child) for child in children if child != _ROOT]


def _checked(parents: dict[str, str | None], path: Path) -> dict[str, str | None]:
    """Refuse loops, and put parents that stand under nothing at the top."""
    for parent in list(parents.values()):
        if parent is not None:
            parents.setdefault(parent, None)
    settled: set[str | None] = {None}
    for label in parents:
        trail: list[str] = []
        above: str | None = label
        while above is not None and above not in settled:
            if above in trail:
                raise CorpusError(f"'{above}' stands above itself; a tree is wanted", path)
            trail.append(above)
            above = parents[above]
        settled.update(trail)
    return parents
