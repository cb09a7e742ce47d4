"""The paper's comparison on any corpus: every model, several seeds, and a test against the best baseline."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.analysis.comparison import Comparison, compare_rows
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.model_names import is_deterministic
from seq2set.experiments.options import Options
from seq2set.experiments.render.comparison_tables import cost_table, f1_plot, paper_table, verdicts
from seq2set.experiments.render.report import Section, every_training

TITLE = "How the models compare"


def cells(options: Options) -> list[Cell]:
    """Return a cell for each model and seed; a model that draws nothing at random has one."""
    return [cell for model in options.models for cell in row_cells(options, model)]


def row_cells(options: Options, model: str, row: str | None = None, *assignments: str) -> list[Cell]:
    """Return the cells of one row: a model with some settings of its own, once for each seed that matters."""
    row = row or model
    first = options.config(model, 1, *assignments)
    if is_deterministic(first):
        return [Cell(row, first, options.cells / row)]
    return [
        Cell(row, options.config(model, seed, *assignments), options.cells / f"{row}-seed{seed}")
        for seed in options.seeds
    ]


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:  # noqa: ARG001 (as all have it)
    """Compare the finished cells."""
    comparison = compare_rows(results)
    corpus = results[0].facts["corpus"]["name"]
    return [
        Section(
            "Results",
            f"Which model gives the best sets of labels on {corpus}, and is it really better than the rest?",
            tuple(verdicts(comparison)),
            (paper_table(comparison),),
            (f1_plot(comparison),),
        ),
        other_measures(comparison),
        every_training(results),
    ]


def other_measures(comparison: Comparison) -> Section:
    """Show what the paper's table has no room for."""
    return Section(
        "Other measures and cost",
        "What do measures say that weigh all labels or all documents alike, and what does a model cost?",
        tables=(cost_table(comparison),),
    )
