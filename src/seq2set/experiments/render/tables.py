"""Tables as the paper has them: rows of models, columns of measures, the best of each column marked.

A table in the forms that people want it in: Markdown, LaTeX with booktabs, and HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Any, Literal, NamedTuple

from seq2set.experiments.analysis.statistics import Interval, Spread


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


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "±": r"$\pm$",
    "−": r"$-$",
    "–": "--",
    "λ": r"$\lambda$",
}


def markdown(table: Table) -> str:
    """Return the table in Markdown, title above and caption below."""
    heads = [table.rows_are, *(column.head for column in table.columns)]
    lines = [_piped(map(_markdown_text, heads)), _piped(["---", *(_side(table) for _ in table.columns)])]
    lines += map(_piped, _texts(table, _markdown_text, "**{}**".format))
    caption = [f"\n{_markdown_text(table.caption)}"] if table.caption else []
    return "\n".join([f"**{_markdown_text(table.title)}**\n", *lines, *caption]) + "\n"


def latex(table: Table) -> str:
    """Return the table in LaTeX, for the package booktabs."""
    heads = [table.rows_are, *(column.head for column in table.columns)]
    lines = [r"\toprule", _row_of_latex(rf"\textbf{{{latex_text(head)}}}" for head in heads), r"\midrule"]
    rows = _texts(table, latex_text, r"\textbf{{{}}}".format)
    for row, texts in zip(table.rows, rows, strict=True):
        lines += [r"\midrule"] if row.ruled else []
        lines.append(_row_of_latex(texts))
    caption = latex_text(" ".join(filter(None, [table.title + ".", table.caption])))
    return "\n".join(
        [
            r"\begin{table}[tb]",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{l{_latex_columns(table)}}}",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def html(table: Table) -> str:
    """Return the table in HTML, in a figure with its caption."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in [table.rows_are, *(c.head for c in table.columns)])
    rows = _texts(table, escape, "<b>{}</b>".format)
    body = "\n".join(_row_of_html(row, texts) for row, texts in zip(table.rows, rows, strict=True))
    caption = f"<p>{escape(table.caption)}</p>" if table.caption else ""
    style = ' class="text"' if table.worded else ""
    return (
        f'<h3 id="{escape(table.name)}">{escape(table.title)}</h3>\n<div class="wrap"><table{style}>'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>{caption}"
    )


def latex_text(text: str) -> str:
    """Escape what LaTeX reads as commands, and spell what its fonts lack."""
    return re.sub("[" + re.escape("".join(_LATEX)) + "]", lambda found: _LATEX[found[0]], text)


def _texts(table: Table, escaped: Callable[[str], str], strong: Callable[[str], str]) -> list[list[str]]:
    """Return the texts of all rows, the names first, with the best of each column strong."""
    best = [table.best(column) for column in range(len(table.columns))]
    found = []
    for place, row in enumerate(table.rows):
        entries = [escaped(text_of(entry)) for entry in row.entries]
        marked = [strong(text) if place in best[column] else text for column, text in enumerate(entries)]
        found.append([escaped(row.name), *marked])
    return found


def _side(table: Table) -> str:
    return "---" if table.worded else "---:"


def _latex_columns(table: Table) -> str:
    width = f"p{{{0.75 / len(table.columns):.2f}\\linewidth}}"
    return (width if table.worded else "r") * len(table.columns)


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\|*_<>`])", r"\\\1", text)


def _piped(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _row_of_latex(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def _row_of_html(row: Row, texts: list[str]) -> str:
    cells = "".join(f"<td>{text}</td>" for text in texts)
    style = ' class="ruled"' if row.ruled else ""
    return f"<tr{style}>{cells}</tr>"
