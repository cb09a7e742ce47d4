"""One thing that was found in a corpus: what, how often, why it matters and what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Level = Literal["error", "warning", "note"]

LEVELS: tuple[str, ...] = get_args(Level)
"""The levels, the gravest first."""

MOST_EXAMPLES = 5
"""How many examples a finding shows."""


@dataclass(frozen=True)
class Finding:
    """A fault, or something worth knowing; `examples` are ids or labels."""

    code: str
    level: Level
    what: str
    count: int
    examples: tuple[str, ...]
    why: str
    todo: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON takes them."""
        return asdict(self) | {"examples": list(self.examples)}


class Tally:
    """A count with its first few examples."""

    def __init__(self) -> None:
        self.count = 0
        self._examples: list[str] = []

    def add(self, example: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self._examples) < MOST_EXAMPLES:
            self._examples.append(example)

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few that were counted."""
        return tuple(self._examples)


def share_of(count: int, total: int) -> str:
    """Tell a count beside its total: `12 of 1,000 (1.2 %)`."""
    return f"{count:,} of {total:,} ({100 * count / max(total, 1):.1f} %)"
