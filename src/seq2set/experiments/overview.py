"""The page over all experiments: what each asked and found, in short, with a link to the whole."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from seq2set.experiments.page import claim_html, filled_page, lead
from seq2set.experiments.sections import Findings
from seq2set.files import write_text

TITLE = "The paper's experiments"


def write_overview(parts: Sequence[Findings], folder: Path) -> Path:
    """Write the page beside the folders of the experiments, and return its path."""
    # Some trainings are on fewer documents; the first experiment, `compare`, has the whole corpus.
    trainings = {result.folder: result for part in parts for result in part.results}
    everything = parts[0]._replace(results=list(trainings.values()))
    contents = {address(one): one.title for one in parts}
    sections = "\n".join(map(_section, parts))
    write_text(folder / "index.html", filled_page(TITLE, lead(everything), contents, sections))
    return folder / "index.html"


def address(findings: Findings) -> str:
    """Return where an experiment's page lies, seen from the page over all."""
    return f"{findings.experiment}/index.html"


def gist(findings: Findings) -> list[str]:
    """Return what came of the paper's claims, or the first thing that was found where it has none."""
    claims = [claim.sentence() for section in findings.sections for claim in section.claims]
    return claims or [sentence for section in findings.sections for sentence in section.found][:1]


def _section(findings: Findings) -> str:
    first = findings.sections[0]
    claims = [claim_html(claim) for section in findings.sections for claim in section.claims]
    found = "\n".join(claims or [f"<p>{escape(sentence)}</p>" for sentence in gist(findings)])
    return (
        f'<section>\n<h2><a href="{address(findings)}">{escape(findings.title)}</a></h2>\n'
        f'<p class="asked">{escape(first.asked)}</p>\n{found}\n</section>'
    )
