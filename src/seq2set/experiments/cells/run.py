"""Doing cells: one after another here, or several at a time in processes of their own.

A process that does one cell: the cell comes as a line of JSON, and how it went goes back as another.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from seq2set.core.errors import Seq2SetError, StoppedError, WorkError
from seq2set.core.processes import stop_with_pipe
from seq2set.core.progress import Progress, Silent
from seq2set.experiments.cells.cell import Cell, CellResult, run_cell
from seq2set.experiments.cells.plan import Schedule, span
from seq2set.experiments.cells.processes import Crew
from seq2set.experiments.cells.published import Shelf
from seq2set.models.prior import priors_shared


class Failure(NamedTuple):
    """A cell that could not be done, and why."""

    cell: Cell
    sentence: str


class Outcome(NamedTuple):
    """The cells that are done, in their order, and those that failed."""

    results: list[CellResult]
    failures: list[Failure]

    def raise_failures(self) -> None:
        """Say which cells failed, where any did."""
        if self.failures:
            reasons = "; ".join(f"{one.cell.name}: {one.sentence}" for one in self.failures)
            cells = "cell" if len(self.failures) == 1 else "cells"
            raise WorkError(f"{len(self.failures)} {cells} failed, the rest is done; {reasons}")


def run_cells(schedule: Schedule, progress: Progress) -> Outcome:
    """Do what is left; a cell that fails does not keep the others from being done."""
    if done_here := len(schedule.results) - len(schedule.published):
        progress.note(f"{done_here} of {len(schedule.cells)} cells are done already")
    if schedule.shelf is not None:
        _take_up(schedule, schedule.shelf, progress)
    with _stopping(schedule), priors_shared():
        run = _in_processes if schedule.jobs > 1 else _one_after_another
        failures = run(schedule, progress)
    done = [schedule.results[cell.name] for cell in schedule.cells if cell.name in schedule.results]
    return Outcome(done, failures)


def _take_up(schedule: Schedule, shelf: Shelf, progress: Progress) -> None:
    for sentence in shelf.notes():
        progress.note(sentence)
    for cell in schedule.cells:
        if cell.name in shelf.chosen:
            schedule.add(cell, shelf.take_up(cell))


@contextmanager
def _stopping(schedule: Schedule) -> Iterator[None]:
    """Let whoever stops the work know how to go on."""
    try:
        yield
    except (KeyboardInterrupt, StoppedError) as error:
        done, all_cells = len(schedule.results), len(schedule.cells)
        raise StoppedError(
            f"stopped with {done} of {all_cells} cells done; nothing is lost, and the same command goes on"
        ) from error


def _one_after_another(schedule: Schedule, progress: Progress) -> list[Failure]:
    failures: list[Failure] = []
    for cell in schedule.left:
        number = schedule.cells.index(cell) + 1
        progress.note(f"{cell.name}: cell {number} of {len(schedule.cells)}, {_time_left(schedule)}")
        try:
            result = run_cell(cell, progress)
        except StoppedError:
            raise
        except WorkError as error:
            failures.append(_failed(schedule, cell, str(error), progress))
        else:
            _finish(schedule, cell, result, progress)
    return failures


def _in_processes(schedule: Schedule, progress: Progress) -> list[Failure]:
    failures: list[Failure] = []
    with progress.stage("cells", len(schedule.cells)) as advance, Crew(schedule.jobs) as crew:
        advance(len(schedule.results))
        waiting = schedule.left
        while waiting or crew.busy:
            while waiting and crew.free:
                crew.start(waiting.pop(0))
            advance(0, f"{', '.join(crew.busy)}; {len(waiting)} wait; {_time_left(schedule)}")
            for cell, message in crew.wait():
                if message is None:
                    _finish(schedule, cell, run_cell(cell, progress), progress)
                else:
                    failures.append(_failed(schedule, cell, message, progress))
                advance(1)
    return failures


def _finish(schedule: Schedule, cell: Cell, result: CellResult, progress: Progress) -> None:
    schedule.add(cell, result)
    score, took = result.metrics["micro_f1"], span(result.seconds)
    progress.note(f"{cell.name}: micro-F1 {score:.4f} on {cell.split}, trained in {took}")


def _failed(schedule: Schedule, cell: Cell, sentence: str, progress: Progress) -> Failure:
    schedule.give_up(cell)
    progress.note(f"{cell.name} failed: {sentence}")
    return Failure(cell, sentence)


def _time_left(schedule: Schedule) -> str:
    left = span(schedule.seconds_left)
    return f"{len(schedule.results)} done, {len(schedule.left)} left, about {left} to go"


def work(line: str) -> dict[str, str | int]:
    """Do the cell and say how it went."""
    try:
        run_cell(Cell.from_dict(json.loads(line)), Silent())
    except Seq2SetError as error:
        return {"error": type(error).__name__, "message": str(error), "code": error.exit_code}
    except KeyboardInterrupt:
        return {"error": "StoppedError", "message": "stopped", "code": 1}
    return {"code": 0}


def keep_to(cores: list[int]) -> None:
    """Keep to some cores, where the system can, so that processes side by side do not crowd each other."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def main() -> None:
    """Do the cell on standard input; the arguments are the cores to keep to."""
    keep_to([int(core) for core in sys.argv[1:]])
    line = sys.stdin.readline()
    with stop_with_pipe(sys.stdin.fileno()):
        said = work(line)
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
