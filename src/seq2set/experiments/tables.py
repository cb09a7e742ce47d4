"""Tables as the paper has them: rows of models, columns of measures, the best of each column marked."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, NamedTuple

from seq2set.experiments.statistics import Interval, Spread


class Quantity(NamedTuple):
    """A number, with its deviation over seeds where there is one."""

    value: float
    digits: int = 3
    deviation: float | None = None
    signed: bool = False

    def text(self) -> str:
        """Return it as it stands in the table."""
        number = f"{self.value:{'+' if self.signed else ''},.{self.digits}f}".replace("-", "−")
        return number if self.deviation is None else f"{number} ± {self.deviation:,.{self.digits}f}"

    def data(self) -> Any:
        """Return it in full precision, as JSON."""
        return {"value": self.value} | ({} if self.deviation is None else {"deviation": self.deviation})


class Range(NamedTuple):
    """An interval."""

    interval: Interval
    digits: int = 3
    signed: bool = False

    def text(self) -> str:
        """Return it as it stands in the table; a dash where nothing bounds it."""
        if not all(map(isfinite, self.interval)):
            return "–"
        return " to ".join(Quantity(end, self.digits, signed=self.signed).text() for end in self.interval)

    def data(self) -> Any:
        """Return it in full precision, as JSON."""
        return self.interval._asdict() if all(map(isfinite, self.interval)) else None


class Chance(NamedTuple):
    """A p-value, starred where it is below the level of significance."""

    value: float
    significant: bool

    def text(self) -> str:
        """Return it as it stands in the table."""
        number = "< 0.001" if self.value < 0.001 else f"{self.value:.3f}"
        return number + ("*" if self.significant else "")

    def data(self) -> Any:
        """Return it in full precision, as JSON."""
        return self._asdict()


Entry = Quantity | Range | Chance | str | None

_SIGNS = {"higher": "(+)", "lower": "(-)", "": ""}


class Column(NamedTuple):
    """A column's head, and which values are better: as in the paper, (+) higher and (-) lower."""

    name: str
    better: Literal["higher", "lower", ""] = ""

    @property
    def head(self) -> str:
        """The head as it is printed."""
        return self.name + _SIGNS[self.better]


class Row(NamedTuple):
    """A row; `ruled` draws a line above it."""

    name: str
    entries: tuple[Entry, ...]
    ruled: bool = False


@dataclass(frozen=True)
class Table:
    """A table that can be printed in any form."""

    name: str
    """What it is called in files and references"""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    rows_are: str = "Models"
    worded: bool = False
    """Whether the entries are words, which begin at the left and may go on in a next line"""

    def best(self, column: int) -> set[int]:
        """Return the rows with the best value of a column, as printed; none where there is no contest."""
        better = self.columns[column].better
        entries = [row.entries[column] for row in self.rows]
        shown = {
            place: round(entry.value, entry.digits)
            for place, entry in enumerate(entries)
            if isinstance(entry, Quantity)
        }
        if not better or len(shown) < 2:
            return set()
        top = max(shown.values()) if better == "higher" else min(shown.values())
        return {place for place, value in shown.items() if value == top}

    def data(self) -> dict[str, Any]:
        """Return the table as plain JSON, in full precision."""
        rows = [
            {self.rows_are.lower(): row.name}
            | {column.name: data_of(entry) for column, entry in zip(self.columns, row.entries, strict=True)}
            for row in self.rows
        ]
        return {"name": self.name, "title": self.title, "caption": self.caption, "rows": rows}


def quantity(found: Spread, digits: int = 3) -> Quantity:
    """Return a spread as an entry."""
    return Quantity(found.mean, digits, found.deviation)


def text_of(entry: Entry) -> str:
    """Return an entry as it stands in a table; a dash where there is nothing."""
    if entry is None:
        return "–"
    return entry if isinstance(entry, str) else entry.text()


def data_of(entry: Entry) -> Any:
    """Return an entry as JSON."""
    return entry if entry is None or isinstance(entry, str) else entry.data()
