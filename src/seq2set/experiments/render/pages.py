"""An experiment as one HTML page that needs nothing else, and reads like a paper's results section.

The page over all experiments: what each asked and found, in short, with a link to the whole.

The folder of an experiment's results: a page, tables for texts and papers, numbers, and pictures.

::

    index.html      reads like a paper's results section; needs no other file
    results.md      the same in Markdown
    results.tex     the tables in LaTeX, for the package booktabs
    results.json    every number with its seed and settings
    figures/        the plots, as PNG and SVG
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from seq2set.core.files import write_aside, write_json, write_text
from seq2set.experiments.analysis.margins import Claim
from seq2set.experiments.render import tables as forms
from seq2set.experiments.render.plots import Plot
from seq2set.experiments.render.report import Findings, Section


def results_page(findings: Findings) -> str:
    """Return the page as text."""
    return filled_page(
        findings.title,
        lead(findings),
        {f"#s{number}": section.title for number, section in enumerate(findings.sections, start=1)},
        "\n".join(_section(*numbered) for numbered in enumerate(findings.sections, start=1)),
    )


def filled_page(title: str, lead: str, contents: Mapping[str, str], sections: str) -> str:
    """Fill the frame that all pages share; `contents` are titles by their addresses, `sections` is HTML."""
    return Template(_file("seq2set.experiments.render")).substitute(
        title=escape(title),
        style=_style(),
        lead=escape(lead),
        contents=" ".join(f'<a href="{escape(one)}">{escape(name)}</a>' for one, name in contents.items()),
        sections=sections,
    )


def lead(findings: Findings) -> str:
    """Say in a sentence what was measured on what."""
    facts = findings.results[0].facts
    corpus = facts["corpus"]
    trainings = f"{len(findings.results)} training{'s' if len(findings.results) > 1 else ''}"
    return (
        f"{trainings} on {corpus['name']}: {corpus['train']:,} documents to learn from, "
        f"{corpus['valid']:,} to tune on, {facts['documents']:,} of the {facts['split']} split to measure "
        f"on; {facts['labels']:,} labels, {corpus['labels_per_document']:.2f} per document."
    )


def _section(number: int, section: Section) -> str:
    found = "\n".join([*map(claim_html, section.claims), *(f"<p>{escape(one)}</p>" for one in section.found)])
    tables = "\n".join(map(forms.html, section.tables))
    figures = "\n".join(map(_figure, section.figures))
    return (
        f'<section id="s{number}">\n<h2>{number}. {escape(section.title)}</h2>\n'
        f'<p class="asked">{escape(section.asked)}</p>\n{found}\n{tables}\n{figures}\n</section>'
    )


def claim_html(claim: Claim) -> str:
    """Return a claim with its verdict in bold, which the eye finds first."""
    text, evidence = escape(claim.text), escape(claim.evidence)
    return f"<p>The paper's claim that {text} <b>{claim.state}</b> here: {evidence}.</p>"


def _figure(figure: Plot) -> str:
    return f"<figure>{figure.page or figure.svg}<figcaption>{escape(figure.caption)}</figcaption></figure>"


def _style() -> str:
    """Return the style of the evaluation page, so that all pages look alike."""
    page = _file("seq2set.evaluation", "templates/base.html.j2")
    return page[page.index("<style>") : page.index("{% block style")] + "</style>"


def _file(package: str, name: str = "page.html") -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


TITLE = "The paper's experiments"


def write_overview(parts: Sequence[Findings], folder: Path) -> Path:
    """Write the page beside the folders of the experiments, and return its path."""
    # Some trainings are on fewer documents; the first experiment, `compare`, has the whole corpus.
    trainings = {result.folder: result for part in parts for result in part.results}
    everything = parts[0]._replace(results=list(trainings.values()))
    contents = {address(one): one.title for one in parts}
    sections = "\n".join(map(_overview_section, parts))
    write_text(folder / "index.html", filled_page(TITLE, lead(everything), contents, sections))
    return folder / "index.html"


def address(findings: Findings) -> str:
    """Return where an experiment's page lies, seen from the page over all."""
    return f"{findings.experiment}/index.html"


def gist(findings: Findings) -> list[str]:
    """Return what came of the paper's claims, or the first thing that was found where it has none."""
    claims = [claim.sentence() for section in findings.sections for claim in section.claims]
    return claims or [sentence for section in findings.sections for sentence in section.found][:1]


def _overview_section(findings: Findings) -> str:
    first = findings.sections[0]
    claims = [claim_html(claim) for section in findings.sections for claim in section.claims]
    found = "\n".join(claims or [f"<p>{escape(sentence)}</p>" for sentence in gist(findings)])
    return (
        f'<section>\n<h2><a href="{address(findings)}">{escape(findings.title)}</a></h2>\n'
        f'<p class="asked">{escape(first.asked)}</p>\n{found}\n</section>'
    )


def write_results(findings: Findings, folder: Path) -> Path:
    """Write all forms, and return the page's path."""
    for figure in (one for section in findings.sections for one in section.figures):
        write_text(folder / "figures" / f"{figure.name}.svg", figure.svg)
        with write_aside(folder / "figures" / f"{figure.name}.png") as aside:
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
