"""What was met in the place of labels while a file was read, and the sentences that tell of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from seq2set.corpora.showing import shortened

EXAMPLES, WIDTH = 5, 40


@dataclass
class Met:
    """How often something was met, with the first few examples."""

    count: int = 0
    examples: dict[str, None] = field(default_factory=dict)

    def add(self, value: object) -> None:
        """Count a value."""
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.setdefault("null" if value is None else str(value).strip())

    def shown(self) -> str:
        """Return the examples as they may stand in a sentence."""
        short = (shortened(example, WIDTH) for example in self.examples)
        return ", ".join(f'"{one}"' if "'" in one else f"'{one}'" for one in short)


@dataclass
class LabelTally:
    """Counts cells that hold something else than labels, or labels that were not easy to find."""

    missing: Met = field(default_factory=Met)
    """Values that stand for missing labels"""
    bare: Met = field(default_factory=Met)
    """Lists of words without quotation marks"""
    broken: Met = field(default_factory=Met)
    """Cells that look like lists and cannot be read as such"""
    listed: int = 0
    """Lists with a label that would stand for a missing one if it filled the cell"""

    def sentences(self) -> list[str]:
        """Say what was met; nothing where all cells were plain."""
        said = [self._missing()] if self.missing.count else []
        if self.bare.count:
            verb = "is read as a list" if self.bare.count == 1 else "are read as lists"
            said.append(f"{_cells(self.bare)} {verb} of words without quotation marks ({self.bare.shown()})")
        if self.broken.count:
            one = self.broken.count == 1
            look, stand = ("looks like a list", "it is") if one else ("look like lists", "they are")
            said.append(
                f"{_cells(self.broken)} {look} and cannot be read as such ({self.broken.shown()}): {stand} "
                "split at the separator like any other text, brackets and all; write ['a', 'b'] or a;b"
            )
        return said

    def _missing(self) -> str:
        values, are = ("value stands", "is") if self.missing.count == 1 else ("values stand", "are")
        sentence = (
            f"{self.missing.count:,} {values} for missing labels ({self.missing.shown()}) and {are} not read "
            "as labels; data.keep_missing=true (--keep-missing) keeps them"
        )
        lists = "1 list" if self.listed == 1 else f"{self.listed:,} lists"
        return sentence + (f"; 'NA' in {lists} is kept as a label" if self.listed else "")


def _cells(met: Met) -> str:
    return "1 label cell" if met.count == 1 else f"{met.count:,} label cells"
