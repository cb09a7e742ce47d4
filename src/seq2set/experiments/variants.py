"""Rows that are one model with a setting or two of its own, and the cells that several rows may share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from seq2set.experiments.cells import Cell, CellResult
from seq2set.experiments.compare import row_cells
from seq2set.experiments.lineup import title_of
from seq2set.experiments.options import Options


class Variant(NamedTuple):
    """A row of a table: its name in print, and the cells that it is the mean of, one a seed."""

    title: str
    cells: tuple[Cell, ...]


def variant(options: Options, model: str, mark: str, title: str, *assignments: str) -> Variant:
    """Return a model with settings of its own; `mark` tells its folders from those of the model alone.

    Settings that are the model's anyway change nothing: then the cells are those that the model has in every
    experiment on the same folder.
    """
    same = options.config(model, 1, *assignments) == options.config(model, 1)
    return Variant(
        title, tuple(row_cells(options, model, model if same else f"{model}-{mark}", *assignments))
    )


def plain(options: Options, model: str) -> Variant:
    """Return a model as it is."""
    return Variant(title_of(model), tuple(row_cells(options, model)))


def all_cells(variants: Iterable[Variant]) -> list[Cell]:
    """Return the cells of all rows, each once."""
    return list({cell.folder: cell for one in variants for cell in one.cells}.values())


def rows_of(variants: Iterable[Variant], results: Sequence[CellResult]) -> list[CellResult]:
    """Return the finished cells of each row under the row's name; one that rows share, for each of them."""
    done = {result.folder: result for result in results}
    return [
        replace(done[cell.folder], row=one.title)
        for one in variants
        for cell in one.cells
        if cell.folder in done
    ]
