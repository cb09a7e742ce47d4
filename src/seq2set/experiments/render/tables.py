"""Tables as the paper has them: rows of models, columns of measures, the best of each column marked.

A table is data first, and then Markdown, LaTeX with booktabs, or HTML on a page (templates/results.html.j2).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, NamedTuple

from seq2set.experiments.analysis.estimates import Interval, Spread


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
    row_key: str = ""
    """The key of a row's name in JSON; unless given, what the rows are"""

    @property
    def heads(self) -> list[str]:
        """The heads of all columns, that of the rows' names first."""
        return [self.rows_are, *(column.head for column in self.columns)]

    def find_best(self, column: int) -> set[int]:
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
            {self.row_key or self.rows_are.lower(): row.name}
            | {
                column.name: entry if entry is None or isinstance(entry, str) else entry.data()
                for column, entry in zip(self.columns, row.entries, strict=True)
            }
            for row in self.rows
        ]
        return {"name": self.name, "title": self.title, "caption": self.caption, "rows": rows}


def to_quantity(found: Spread, digits: int = 3) -> Quantity:
    """Return a spread as an entry."""
    return Quantity(found.mean, digits, found.deviation)


def format_entry(entry: Entry) -> str:
    """Return an entry as it stands in a table; a dash where there is nothing."""
    if entry is None:
        return "–"
    return entry if isinstance(entry, str) else entry.text()


_LATEX = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "±": r"$\pm$",
    "−": r"$-$",
    "–": "--",
    "λ": r"$\lambda$",
}


def format_markdown(table: Table) -> str:
    """Return the table in Markdown, title above and caption below."""
    rule = ["---", *("---" if table.worded else "---:" for _ in table.columns)]
    rows = _format_rows(table, _escape_markdown, "**{}**".format)
    lines = [f"| {' | '.join(row)} |" for row in (map(_escape_markdown, table.heads), rule, *rows)]
    caption = [f"\n{_escape_markdown(table.caption)}"] if table.caption else []
    return "\n".join([f"**{_escape_markdown(table.title)}**\n", *lines, *caption]) + "\n"


def format_latex(table: Table) -> str:
    """Return the table in LaTeX, for the package booktabs."""
    heads = [rf"\textbf{{{escape_latex(head)}}}" for head in table.heads]
    lines = [r"\toprule", " & ".join(heads) + r" \\", r"\midrule"]
    rows = _format_rows(table, escape_latex, r"\textbf{{{}}}".format)
    for row, texts in zip(table.rows, rows, strict=True):
        lines += [r"\midrule"] if row.ruled else []
        lines.append(" & ".join(texts) + r" \\")
    width = f"p{{{0.75 / len(table.columns):.2f}\\linewidth}}" if table.worded else "r"
    caption = escape_latex(" ".join(filter(None, [table.title + ".", table.caption])))
    return "\n".join(
        [
            r"\begin{table}[tb]",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{l{width * len(table.columns)}}}",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def escape_latex(text: str) -> str:
    """Escape what LaTeX reads as commands, and spell what its fonts lack."""
    return re.sub("[" + re.escape("".join(_LATEX)) + "]", lambda found: _LATEX[found[0]], text)


def _format_rows(
    table: Table, escaped: Callable[[str], str], strong: Callable[[str], str]
) -> list[list[str]]:
    """Return the texts of all rows, the names first, with the best of each column strong."""
    best = [table.find_best(column) for column in range(len(table.columns))]
    found = []
    for place, row in enumerate(table.rows):
        entries = [escaped(format_entry(entry)) for entry in row.entries]
        marked = [strong(text) if place in best[column] else text for column, text in enumerate(entries)]
        found.append([escaped(row.name), *marked])
    return found


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\|*_<>`])", r"\\\1", text)
