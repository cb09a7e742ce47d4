"""The folder of an experiment's results: a page, tables for texts and papers, numbers, and pictures.

::

    index.html      reads like a paper's results section; needs no other file
    results.md      the same in Markdown
    results.tex     the tables in LaTeX, for the package booktabs
    results.json    every number with its seed and settings
    figures/        the plots, as PNG and SVG
"""

from __future__ import annotations

from pathlib import Path

from seq2set.experiments import forms
from seq2set.experiments.page import results_page
from seq2set.experiments.sections import Findings, Section
from seq2set.files import write_json, write_text, written_aside


def write_results(findings: Findings, folder: Path) -> Path:
    """Write all forms, and return the page's path."""
    for figure in (one for section in findings.sections for one in section.figures):
        write_text(folder / "figures" / f"{figure.name}.svg", figure.svg)
        with written_aside(folder / "figures" / f"{figure.name}.png") as aside:
            aside.write_bytes(figure.png)
    tables = [table for section in findings.sections for table in section.tables]
    write_text(folder / "results.tex", "\n".join(map(forms.latex, tables)))
    write_text(folder / "results.md", _markdown(findings))
    write_json(folder / "results.json", findings.data())
    write_text(folder / "index.html", results_page(findings))
    return folder / "index.html"


def _markdown(findings: Findings) -> str:
    return "\n".join([f"# {findings.title}\n", *map(_markdown_section, findings.sections)])


def _markdown_section(section: Section) -> str:
    figures = [f"![{figure.caption}](figures/{figure.name}.png)\n" for figure in section.figures]
    found = [f"{sentence}\n" for sentence in section.sentences()]
    parts = [f"## {section.title}\n", f"*{section.asked}*\n", *found]
    return "\n".join([*parts, *map(forms.markdown, section.tables), *figures])
