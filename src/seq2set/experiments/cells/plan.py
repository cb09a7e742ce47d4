"""The plan of an experiment: which cells are done, which are left, and about how long these take.

A cell takes as long as those of its model that were measured; before the first, its time is unknown. What a
cell takes over from another takes no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from seq2set.config.run_folder import RunFolder
from seq2set.config.run_locks import find_holder
from seq2set.core.cluster import Workplace
from seq2set.experiments.cells.cell import Cell, read_result
from seq2set.experiments.cells.published import PublishedCells
from seq2set.experiments.cells.warm_start_reuse import can_reuse, estimate_share_left
from seq2set.experiments.options import Options
from seq2set.workflows.training_corpus import open_training_corpus


class CellTime(NamedTuple):
    """How long a cell takes."""

    seconds: float | None
    """None before any cell of the same model was measured"""
    shares: bool = False
    """Whether it takes over what another has learnt"""


State = Literal["done", "published", "elsewhere", "begun", "to do"]


class PlannedCell(NamedTuple):
    """A cell in the plan."""

    cell: Cell
    state: State
    time: CellTime


class Schedule:
    """The cells of an experiment that are done and those that are left."""

    def __init__(
        self,
        cells: Sequence[Cell],
        jobs: int = 1,
        stored: PublishedCells | None = None,
        place: Workplace | None = None,
        *,
        waits: bool = True,
    ):
        self.cells, self.jobs, self.stored, self.waits = tuple(cells), jobs, stored, waits
        self.place = place or Workplace()
        corpora = {data: open_training_corpus(data) for data in {cell.config.data for cell in cells}}
        found = {cell.name: read_result(cell, corpora[cell.config.data]) for cell in cells}
        self.results = {name: result for name, result in found.items() if result is not None}
        self.failed: set[str] = set()
        """The names of cells that failed, or that others work on"""
        if stored is not None:
            for cell in self.left:
                if (published := stored.choose(cell, corpora[cell.config.data])) is not None:
                    self.results[cell.name] = published

    @property
    def published(self) -> set[str]:
        """The names of the cells that are taken from published ones."""
        return set() if self.stored is None else set(self.stored.chosen)

    @property
    def left(self) -> list[Cell]:
        """The cells that are still to be done, in their order."""
        return [cell for cell in self.cells if cell.name not in {*self.results, *self.failed}]

    def list_steps(self) -> Iterable[PlannedCell]:
        """Yield the plan, one cell after the other."""
        for cell in self.cells:
            state: State = "published" if cell.name in self.published else "done"
            if (result := self.results.get(cell.name)) is not None:
                yield PlannedCell(cell, state, CellTime(result.seconds))
            else:
                held = find_holder(cell.folder) is not None
                state = "elsewhere" if held else "begun" if _is_begun(cell) else "to do"
                yield PlannedCell(cell, state, self.estimate_time(cell))

    def describe_time_left(self) -> str:
        """Return how long the cells that are left take, as far as cells of their models were measured."""
        times = [self.estimate_time(cell).seconds for cell in self.left]
        known = [seconds for seconds in times if seconds is not None]
        if None in times and not sum(known):  # reused cells take no time
            return "time to go unknown"
        bound = "about" if len(known) == len(times) else "at least"
        return f"{bound} {format_duration(sum(known) / max(1, min(self.jobs, len(times))))} to go"

    def estimate_time(self, cell: Cell) -> CellTime:
        """Return how long a cell takes: as the measured cells of its model, less what it takes over."""
        shares = self._reuses_another(cell)
        share = estimate_share_left(cell.config) if shares else 1.0
        measured = [one.seconds for one in self.results.values() if one.model == cell.config.model]
        if share and not measured:
            return CellTime(None, shares)
        return CellTime(share * sum(measured) / max(1, len(measured)), shares)

    def _reuses_another(self, cell: Cell) -> bool:
        """Return whether a cell before this one has, or will have, learnt what this one needs first."""
        if _is_begun(cell):
            return False
        before = [one for one in self.cells[: self.cells.index(cell)] if one.name not in self.failed]
        # Published cells are done and have learnt nothing.
        return any(
            can_reuse(one.config, cell.config)
            for one in before
            if one.name not in self.results or RunFolder(one.folder).has_learnt()
        )


def make_schedule(cells: Sequence[Cell], options: Options) -> Schedule:
    """Return the plan of the cells that an experiment needs."""
    stored = PublishedCells(options.published) if options.published else None
    return Schedule(cells, options.jobs, stored, options.place, waits=options.waits)


def _is_begun(cell: Cell) -> bool:
    return RunFolder(cell.folder).config.is_file()


def format_duration(seconds: float | None) -> str:
    """Return a time in a unit that suits its length."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
