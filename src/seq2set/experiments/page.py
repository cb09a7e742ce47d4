"""An experiment as one HTML page that needs nothing else, and reads like a paper's results section."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib import resources
from string import Template

from seq2set.experiments import forms
from seq2set.experiments.claim import Claim
from seq2set.experiments.figures import Plot
from seq2set.experiments.sections import Findings, Section


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
    return Template(_file("seq2set.experiments")).substitute(
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
        f"on; {facts['labels']:,} labels, {corpus['labels_a_document']:.2f} a document."
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
    page = _file("seq2set.reporting")
    return page[page.index("<style>") : page.index("</style>") + len("</style>")]


def _file(package: str) -> str:
    return resources.files(package).joinpath("page.html").read_text(encoding="utf-8")
