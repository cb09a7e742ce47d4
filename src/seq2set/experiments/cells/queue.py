"""The cells that are left, in the order in which they are done: those that other processes train come last.

Several experiments may share a folder, and want the same cell at the same time. Whoever comes first trains
it; the others do what else they have to do, and then wait for it, or leave it out as pending. Nobody waits
who holds a cell, so that no two can wait for each other; of whoever dies, the next takes the cell over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from seq2set.config.run_locks import find_holder
from seq2set.core.progress import Progress
from seq2set.experiments.cells.cell import Cell
from seq2set.experiments.cells.plan import Schedule

POLL_SECONDS = 1.0
"""Seconds between looks at cells that other processes train."""


class CellFailure(NamedTuple):
    """A cell that failed, and why; or one that is pending, and who trains it."""

    cell: Cell
    sentence: str
    pending: bool = False


class CellQueue:
    """The cells of a schedule that nobody has begun here."""

    def __init__(self, schedule: Schedule, progress: Progress):
        self.schedule, self.progress = schedule, progress
        self.waiting = schedule.left
        self._told: set[str] = set()

    def take(self) -> Cell | None:
        """Take the first cell that is free; None where there is none."""
        for place, cell in enumerate(self.waiting):
            if find_holder(cell.folder) is None:
                return self.waiting.pop(place)
        return None

    def take_or_wait(self) -> Cell | None:
        """Take a cell, and wait for one where others have them all; None where nothing is left to do here."""
        while self.waiting:
            if (cell := self.take()) is not None:
                return cell
            if not self.schedule.waits:
                return None
            for one in self._describe_waiting():
                if one.cell.name not in self._told:
                    self._told.add(one.cell.name)
                    self.progress.note(f"waiting for {one.cell.name}: {one.sentence}")
            time.sleep(POLL_SECONDS)
        return None

    def give_up(self) -> list[CellFailure]:
        """Leave out the cells that others still train."""
        self.schedule.failed.update(cell.name for cell in self.waiting)
        return list(self._describe_waiting())

    def _describe_waiting(self) -> Iterator[CellFailure]:
        for cell in self.waiting:
            holder = find_holder(cell.folder)
            sentence = "nobody trains it any more" if holder is None else f"{holder} trains it"
            yield CellFailure(cell, sentence, pending=True)
