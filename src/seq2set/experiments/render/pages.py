"""The folder of a study's results: a page, tables for texts and papers, numbers, and pictures.

::

    index.html      reads like a paper's results section; needs no other file
    results.md      the same in Markdown
    results.tex     the tables in LaTeX, for the package booktabs
    results.json    every number with its seed and settings
    figures/        the plots, as PNG and SVG

Beside the folders of several studies lies one page over all: what each asked and found, in short.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from seq2set.core.files import write_aside, write_json, write_text
from seq2set.evaluation.page import render_page
from seq2set.experiments.render.report import Findings, Section
from seq2set.experiments.render.tables import format_entry, format_latex, format_markdown

_PACKAGE = "seq2set.experiments.render"


def write_results(findings: Findings, folder: Path) -> Path:
    """Write all forms, and return the page's path."""
    for figure in (one for section in findings.sections for one in section.figures):
        write_text(folder / "figures" / f"{figure.name}.svg", figure.svg)
        with write_aside(folder / "figures" / f"{figure.name}.png") as aside:
            aside.write_bytes(figure.png)
    tables = [table for section in findings.sections for table in section.tables]
    write_text(folder / "results.tex", "\n".join(map(format_latex, tables)))
    write_text(folder / "results.md", _format_markdown_page(findings))
    write_json(folder / "results.json", findings.data())
    write_text(folder / "index.html", render_results(findings))
    return folder / "index.html"


def render_results(findings: Findings) -> str:
    """Return the page of a study."""
    return render_page(
        "results.html.j2",
        package=_PACKAGE,
        filters={"entry": format_entry},
        title=findings.title,
        lead=_describe_data(findings),
        findings=findings,
    )


def write_overview(parts: Sequence[Findings], folder: Path) -> Path:
    """Write the page beside the folders of the studies, and return its path."""
    # Some trainings are on fewer documents; the first study, `compare`, has the whole corpus.
    trainings = {result.folder: result for part in parts for result in part.results}
    everything = parts[0]._replace(results=list(trainings.values()))
    page = render_page(
        "overview.html.j2",
        package=_PACKAGE,
        title="The paper's experiments",
        lead=_describe_data(everything),
        parts=parts,
    )
    write_text(folder / "index.html", page)
    return folder / "index.html"


def _describe_data(findings: Findings) -> str:
    """Say in a sentence what was measured on what."""
    facts = findings.results[0].facts
    corpus = facts["corpus"]
    trainings = f"{len(findings.results)} training{'s' if len(findings.results) > 1 else ''}"
    return (
        f"{trainings} on {corpus['name']}: {corpus['train']:,} documents to learn from, "
        f"{corpus['valid']:,} to tune on, {facts['documents']:,} of the {facts['split']} split to measure "
        f"on; {facts['labels']:,} labels, {corpus['labels_per_document']:.2f} per document."
    )


def _format_markdown_page(findings: Findings) -> str:
    return "\n".join([f"# {findings.title}\n", *map(_format_markdown_section, findings.sections)])


def _format_markdown_section(section: Section) -> str:
    figures = [f"![{figure.caption}](figures/{figure.name}.png)\n" for figure in section.figures]
    found = [f"{sentence}\n" for sentence in section.sentences()]
    parts = [f"## {section.title}\n", f"*{section.asked}*\n", *found]
    return "\n".join([*parts, *map(format_markdown, section.tables), *figures])
