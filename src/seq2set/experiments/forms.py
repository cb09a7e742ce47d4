"""A table in the forms that people want it in: Markdown, LaTeX with booktabs, and HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import escape

from seq2set.experiments.tables import Row, Table, text_of

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
