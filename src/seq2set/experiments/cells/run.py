"""Run cells: one after another here, or several at a time in worker processes with their share of the cores.

A worker process reads a cell as a line of JSON and prints the outcome as another.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple, cast

from seq2set.config.catalog import METRICS
from seq2set.config.run_locks import find_holder
from seq2set.core.errors import BusyError, InputError, PendingError, Seq2SetError, StoppedError, WorkError
from seq2set.core.hardware import keep_to_cores, share_cores
from seq2set.core.processes import EndedWorker, WorkerPool, stop_with_pipe
from seq2set.core.progress import Progress, Silent
from seq2set.core.text_utils import count_things
from seq2set.experiments.cells.cell import Cell, CellResult, run_cell
from seq2set.experiments.cells.plan import Schedule, format_duration
from seq2set.training.fitted_prior import PriorCache

POLL_SECONDS = 1.0
"""Seconds between looks at cells that other processes train."""


class CellFailure(NamedTuple):
    """A cell that failed, and why; or one that is pending, and who trains it."""

    cell: Cell
    sentence: str
    pending: bool = False


class RunOutcome(NamedTuple):
    """The cells that are done, in their order, and those that failed or are pending."""

    results: list[CellResult]
    failures: list[CellFailure]

    def raise_failures(self) -> None:
        """Raise an error that names the cells that failed, if any did, or else those that are pending."""
        pending = [one for one in self.failures if one.pending]
        if failed := [one for one in self.failures if not one.pending]:
            others = f"; {len(pending)} pending" if pending else ""
            cells = count_things(len(failed), "cell")
            raise WorkError(f"{cells} failed{others}, the rest is done; {_list_reasons(failed)}")
        if pending:
            cells = f"{count_things(len(pending), 'cell')} {'is' if len(pending) == 1 else 'are'} pending"
            it = "it" if len(pending) == 1 else "them"
            raise PendingError(
                f"{cells}, the rest is done; {_list_reasons(pending)}; later the same command collects {it}"
            )


def _list_reasons(failures: list[CellFailure]) -> str:
    return "; ".join(f"{one.cell.name}: {one.sentence}" for one in failures)


def run_cells(schedule: Schedule, progress: Progress) -> RunOutcome:
    """Run the cells that are left; one that fails does not stop the others."""
    if done_here := len(schedule.results) - len(schedule.published):
        verb = "is" if done_here == 1 else "are"
        progress.note(f"{done_here} of {count_things(len(schedule.cells), 'cell')} {verb} done already")
    if (stored := schedule.stored) is not None:
        for sentence in stored.list_notes():
            progress.note(sentence)
        for cell in schedule.cells:
            if cell.name in stored.chosen:
                try:
                    schedule.results[cell.name] = stored.write(cell)
                except BusyError:  # who writes the same
                    del schedule.results[cell.name]
    run = _run_here if schedule.jobs == 1 and schedule.place.is_here else _run_in_workers
    try:
        failures = run(schedule, progress)
    except (KeyboardInterrupt, StoppedError) as error:
        done = f"{len(schedule.results)} of {count_things(len(schedule.cells), 'cell')} done"
        raise StoppedError(f"stopped with {done}; rerun the same command to continue") from error
    results = [schedule.results[cell.name] for cell in schedule.cells if cell.name in schedule.results]
    return RunOutcome(results, failures)


class CellQueue:
    """The cells that are left, in the order in which they are done: those that others train come last.

    Several experiments may share a folder, and want the same cell at the same time. Whoever comes first
    trains it; the others do what else they have to do, and then wait for it, or leave it out as pending.
    Nobody waits who holds a cell, so that no two can wait for each other; of whoever dies, the next takes the
    cell over.
    """

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


def _run_here(schedule: Schedule, progress: Progress) -> list[CellFailure]:
    failures: list[CellFailure] = []
    priors, queue = PriorCache(), CellQueue(schedule, progress)
    while (cell := queue.take_or_wait()) is not None:
        number = schedule.cells.index(cell) + 1
        progress.note(f"{cell.name}: cell {number} of {len(schedule.cells)}, {_describe_state(schedule)}")
        try:
            result = run_cell(cell, progress, priors)
        except BusyError:  # somebody was faster
            queue.waiting.append(cell)
        except StoppedError:
            raise
        except WorkError as error:
            failures.append(_record_failure(schedule, cell, str(error), progress))
        else:
            _finish(schedule, cell, result, progress)
    return [*failures, *queue.give_up()]


def _run_in_workers(schedule: Schedule, progress: Progress) -> list[CellFailure]:
    failures: list[CellFailure] = []
    pool: WorkerPool[Cell] = schedule.place.open_pool(schedule.jobs)
    queue = CellQueue(schedule, progress)
    with progress.stage("cells", len(schedule.cells)) as advance, pool:
        advance(len(schedule.results))
        while True:
            while pool.free_slot is not None and (cell := queue.take()) is not None:
                start_worker(pool, cell)
            if not pool.jobs:
                if (cell := queue.take_or_wait()) is None:
                    return [*failures, *queue.give_up()]
                start_worker(pool, cell)
            busy = ", ".join(cell.name for cell in pool.jobs)
            advance(0, f"{busy}; {len(queue.waiting)} wait; {_describe_state(schedule)}")
            others_free_it = queue.waiting and pool.free_slot is not None
            for ended in pool.wait(POLL_SECONDS if others_free_it else float("inf")):
                try:
                    message = read_failure(ended)
                except BusyError:
                    queue.waiting.append(ended.job)  # another process has it
                    continue
                if message is None:
                    _finish(schedule, ended.job, run_cell(ended.job, progress), progress)
                else:
                    failures.append(_record_failure(schedule, ended.job, message, progress))
                advance(1)


def start_worker(pool: WorkerPool[Cell], cell: Cell) -> None:
    """Start a worker process for a cell, with the share of this machine's cores that its slot has."""
    assert pool.free_slot is not None
    cores = map(str, share_cores(pool.free_slot, pool.size) if pool.pinned else ())
    pool.start(cell, ["-m", "seq2set.experiments.cells.run", *cores], message=json.dumps(cell.to_dict()))


def read_failure(ended: EndedWorker[Cell]) -> str | None:
    """Return why a worker failed, or None; a wrong call or a stop ends all the others as well."""
    if not ended.output.strip():
        return f"its process ended with code {ended.code}"
    outcome = json.loads(ended.output.splitlines()[-1])
    if outcome["code"] == InputError.exit_code:
        raise InputError(outcome["message"])
    for kind in (StoppedError, BusyError):
        if outcome.get("error") == kind.__name__:
            raise kind(outcome["message"])
    return cast("str | None", outcome.get("message"))


def _finish(schedule: Schedule, cell: Cell, result: CellResult, progress: Progress) -> None:
    schedule.results[cell.name] = result
    score, took = result.metrics["micro_f1"], format_duration(result.seconds)
    progress.note(f"{cell.name}: {METRICS['micro_f1'].title} {score:.4f} on {cell.split}, trained in {took}")


def _record_failure(schedule: Schedule, cell: Cell, sentence: str, progress: Progress) -> CellFailure:
    schedule.failed.add(cell.name)
    progress.note(f"{cell.name} failed: {sentence}")
    return CellFailure(cell, sentence)


def _describe_state(schedule: Schedule) -> str:
    done, left = len(schedule.results), len(schedule.left)
    return f"{done} done, {left} left, {schedule.describe_time_left()}"


def work(line: str) -> dict[str, str | int]:
    """Run the cell of a line of JSON, and return its outcome as plain JSON."""
    try:
        run_cell(Cell.from_dict(json.loads(line)), Silent())
    except Seq2SetError as error:
        return {"error": type(error).__name__, "message": str(error), "code": error.exit_code}
    except KeyboardInterrupt:
        return {"error": "StoppedError", "message": "stopped", "code": 1}
    return {"code": 0}


def main() -> None:
    """Run the cell on standard input; the arguments are the cores to keep to."""
    keep_to_cores([int(core) for core in sys.argv[1:]])
    line = sys.stdin.readline()
    with stop_with_pipe(sys.stdin.fileno()):
        outcome = work(line)
    sys.stdout.write(json.dumps(outcome) + "\n")


if __name__ == "__main__":
    main()
