"""What a study has to say, before it takes any form: what was asked, and what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from seq2set.experiments.analysis.claims import Claim
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.render.cases import Case
from seq2set.experiments.render.comparison_tables import paper_metrics
from seq2set.experiments.render.plots import Plot
from seq2set.experiments.render.tables import Column, Quantity, Row, Table, format_markdown


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
    measures = [row.short for row in paper_metrics().values()]
    heads = ("model", "seed", *measures, "validation F1", "weights from", "minutes", "documents/s")
    rows = tuple(Row(result.folder.name, _list_numbers(result)) for result in results)
    machines = dict.fromkeys(_describe_machine(result) for result in results)
    seen = dict.fromkeys(sentence for result in results if (sentence := _describe_seen(result)))
    columns = tuple(map(Column, heads))
    table = Table(TRAININGS, "Each training by itself", columns, rows, rows_are="Cells")
    return Section(
        "Every training",
        "The trainings behind the tables, each with the seed and the settings that repeat it.",
        (f"Measured on {'; and on '.join(machines)}.", *seen),
        (table,),
    )


def _list_numbers(result: CellResult) -> tuple[str | Quantity, ...]:
    return (
        result.model,
        str(result.facts["seed"]),
        *(Quantity(result.metrics[name], row.digits) for name, row in paper_metrics().items()),
        Quantity(result.validation["micro_f1"]),
        result.phase,
        Quantity(result.seconds / 60, 1),
        Quantity(result.facts["documents_per_second"], 0),
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
