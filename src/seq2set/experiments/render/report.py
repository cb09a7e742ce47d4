"""What a study has to say, and the folder that it is written into: a page, tables, numbers, and pictures.

::

    index.html      reads like a paper's results section; needs no other file
    results.md      the same in Markdown
    results.tex     the tables in LaTeX, for the package booktabs
    results.json    every number with its seed and settings
    figures/        the plots, as PNG and SVG
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.files import write_aside, write_json, write_text
from seq2set.evaluation.page import render_page
from seq2set.experiments.analysis.margins import Claim
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.render.cases import Case
from seq2set.experiments.render.comparison_tables import list_paper_metrics
from seq2set.experiments.render.plots import Plot
from seq2set.experiments.render.tables import (
    Column,
    Quantity,
    Row,
    Table,
    format_entry,
    format_latex,
    format_markdown,
)


class Section(NamedTuple):
    """A question with its answer."""

    title: str
    asked: str
    found: tuple[str, ...] = ()
    """What came out, a sentence or two each"""
    tables: tuple[Table, ...] = ()
    figures: tuple[Plot, ...] = ()
    claims: tuple[Claim, ...] = ()
    """What the paper says about it, judged by what came out"""
    cases: tuple[Case, ...] = ()
    """Documents that the page shows in colour"""

    def sentences(self) -> list[str]:
        """Return all that there is to say: the paper's claims first, then what else came out."""
        return [*(claim.sentence() for claim in self.claims), *self.found]

    def data(self) -> dict[str, Any]:
        """Return the section as plain JSON; figures by their names."""
        return {
            "title": self.title,
            "asked": self.asked,
            "claims": [claim.data() for claim in self.claims],
            "found": list(self.found),
            "tables": [table.data() | {"markdown": format_markdown(table)} for table in self.tables],
            "figures": [{"name": figure.name, "caption": figure.caption} for figure in self.figures],
        }


class Findings(NamedTuple):
    """Everything that a study found, and the cells that it rests on."""

    experiment: str
    title: str
    sections: list[Section]
    results: list[CellResult]
    asked: Mapping[str, Any] | None = None
    """What was asked for: the corpus, models, seeds and options"""

    def data(self) -> dict[str, Any]:
        """Return all as plain JSON: every number with its seed and its settings."""
        return {
            "experiment": self.experiment,
            "title": self.title,
            "asked": dict(self.asked or {}),
            "sections": [section.data() for section in self.sections],
            "cells": [{"name": result.folder.name, **result.facts} for result in self.results],
        }

    def claims(self) -> list[Claim]:
        """Return what came of the paper's claims."""
        return [claim for section in self.sections for claim in section.claims]

    def gist(self) -> list[str]:
        """Return what came of the paper's claims, or the first thing that was found where it has none."""
        found = [sentence for section in self.sections for sentence in section.found]
        return [claim.sentence() for claim in self.claims()] or found[:1]


TRAININGS = "every-training"
"""The name of the table that lists all trainings."""


def list_trainings(results: Sequence[CellResult]) -> Section:
    """Return the section that ends every page: each training with its own numbers, and the machine."""
    measures = [row.short for row in list_paper_metrics().values()]
    heads = ("model", "seed", *measures, "validation F1", "weights from", "minutes", "documents/s")
    rows = []
    for one in results:
        entries: tuple[str | Quantity, ...] = (
            one.model,
            str(one.facts["seed"]),
            *(Quantity(one.metrics[name], row.digits) for name, row in list_paper_metrics().items()),
            Quantity(one.validation["micro_f1"]),
            one.phase,
            Quantity(one.seconds / 60, 1),
            Quantity(one.facts["documents_per_second"], 0),
        )
        rows.append(Row(one.folder.name, entries))
    machines = dict.fromkeys(_describe_machine(result) for result in results)
    seen = dict.fromkeys(sentence for result in results if (sentence := _describe_seen(result)))
    columns = tuple(map(Column, heads))
    table = Table(TRAININGS, "Each training by itself", columns, tuple(rows), rows_are="Cells")
    return Section(
        "Every training",
        "The trainings behind the tables, each with the seed and the settings that repeat it.",
        (f"Measured on {'; and on '.join(machines)}.", *seen),
        (table,),
    )


def _describe_seen(result: CellResult) -> str:
    """Say how many test documents a training has seen; cells of earlier versions do not tell."""
    facts = result.facts
    counts = facts.get("seen", {})
    trained, tuned = counts.get("trained_on") or 0, counts.get("used_for_tuning") or 0
    if not trained + tuned or facts["split"] != "test":
        return ""
    left_out = counts.get("left_out") or 0
    fate = "left out" if left_out else "counted, so that figures on a published split can be compared"
    return (
        f"Of the {facts['documents'] + left_out:,} test documents of {facts['corpus']['name']}, the texts of "
        f"{trained:,} stand in train as well and those of {tuned:,} in validation. They are {fate}."
    )


def _describe_machine(result: CellResult) -> str:
    facts = result.facts["machine"]
    threads = f"{facts['threads']} of {facts['cores']} cores"
    return f"{facts['cpu']} ({threads}), seq2set {facts['seq2set']}, torch {facts['torch']}"


_PACKAGE = "seq2set.experiments.render"


def write_results(findings: Findings, folder: Path) -> Path:
    """Write all forms, and return the page's path."""
    for figure in (one for section in findings.sections for one in section.figures):
        write_text(folder / "figures" / f"{figure.name}.svg", figure.svg)
        with write_aside(folder / "figures" / f"{figure.name}.png") as aside:
            aside.write_bytes(figure.png)
    tables = [table for section in findings.sections for table in section.tables]
    write_text(folder / "results.tex", "\n".join(map(format_latex, tables)))
    sections = map(_format_markdown_section, findings.sections)
    write_text(folder / "results.md", "\n".join([f"# {findings.title}\n", *sections]))
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
    """Write the page beside the folders of the studies, what each asked and found, and return its path."""
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
    facts = findings.results[0].facts
    corpus = facts["corpus"]
    trainings = f"{len(findings.results)} training{'s' if len(findings.results) > 1 else ''}"
    return (
        f"{trainings} on {corpus['name']}: {corpus['train']:,} documents to learn from, "
        f"{corpus['valid']:,} to tune on, {facts['documents']:,} of the {facts['split']} split to measure "
        f"on; {facts['labels']:,} labels, {corpus['labels_per_document']:.2f} per document."
    )


def _format_markdown_section(section: Section) -> str:
    figures = [f"![{figure.caption}](figures/{figure.name}.png)\n" for figure in section.figures]
    found = [f"{sentence}\n" for sentence in section.sentences()]
    parts = [f"## {section.title}\n", f"*{section.asked}*\n", *found]
    return "\n".join([*parts, *map(format_markdown, section.tables), *figures])
