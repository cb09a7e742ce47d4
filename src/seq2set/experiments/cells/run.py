"""Run cells: one after another here, or several at a time in worker processes with their share of the cores.

A worker process reads a cell as a line of JSON and prints the outcome as another.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from seq2set.core.errors import InputError, Seq2SetError, StoppedError, WorkError
from seq2set.core.hardware import keep_to_cores, share_cores
from seq2set.core.processes import EndedWorker, WorkerPool, stop_with_pipe
from seq2set.core.progress import Progress, Silent
from seq2set.core.text_utils import count_things
from seq2set.experiments.cells.cell import Cell, CellResult, run_cell
from seq2set.experiments.cells.plan import Schedule, format_duration
from seq2set.experiments.cells.published import PublishedCells
from seq2set.training.fitted_prior import PriorCache


class CellFailure(NamedTuple):
    """A cell that failed, and why."""

    cell: Cell
    sentence: str


class RunOutcome(NamedTuple):
    """The cells that are done, in their order, and those that failed."""

    results: list[CellResult]
    failures: list[CellFailure]

    def raise_failures(self) -> None:
        """Raise an error that names the cells that failed, if any did."""
        if self.failures:
            reasons = "; ".join(f"{one.cell.name}: {one.sentence}" for one in self.failures)
            cells = count_things(len(self.failures), "cell")
            raise WorkError(f"{cells} failed, the rest is done; {reasons}")


def run_cells(schedule: Schedule, progress: Progress) -> RunOutcome:
    """Run the cells that are left; one that fails does not stop the others."""
    if done_here := len(schedule.results) - len(schedule.published):
        verb = "is" if done_here == 1 else "are"
        progress.note(f"{done_here} of {count_things(len(schedule.cells), 'cell')} {verb} done already")
    if schedule.stored is not None:
        _use_published(schedule, schedule.stored, progress)
    with _explain_stop(schedule):
        run = _run_here if schedule.jobs == 1 and schedule.place.is_here else _run_in_workers
        failures = run(schedule, progress)
    done = [schedule.results[cell.name] for cell in schedule.cells if cell.name in schedule.results]
    return RunOutcome(done, failures)


def _use_published(schedule: Schedule, stored: PublishedCells, progress: Progress) -> None:
    for sentence in stored.list_notes():
        progress.note(sentence)
    for cell in schedule.cells:
        if cell.name in stored.chosen:
            schedule.add(cell, stored.write(cell))


@contextmanager
def _explain_stop(schedule: Schedule) -> Iterator[None]:
    """Name in the message of a stop how to continue."""
    try:
        yield
    except (KeyboardInterrupt, StoppedError) as error:
        done, all_cells = len(schedule.results), count_things(len(schedule.cells), "cell")
        raise StoppedError(
            f"stopped with {done} of {all_cells} done; rerun the same command to continue"
        ) from error


def _run_here(schedule: Schedule, progress: Progress) -> list[CellFailure]:
    failures: list[CellFailure] = []
    priors = PriorCache()
    for cell in schedule.left:
        number = schedule.cells.index(cell) + 1
        progress.note(f"{cell.name}: cell {number} of {len(schedule.cells)}, {_describe_state(schedule)}")
        try:
            result = run_cell(cell, progress, priors)
        except StoppedError:
            raise
        except WorkError as error:
            failures.append(_record_failure(schedule, cell, str(error), progress))
        else:
            _finish(schedule, cell, result, progress)
    return failures


def _run_in_workers(schedule: Schedule, progress: Progress) -> list[CellFailure]:
    failures: list[CellFailure] = []
    pool: WorkerPool[Cell] = schedule.place.open_pool(schedule.jobs)
    with progress.stage("cells", len(schedule.cells)) as advance, pool:
        advance(len(schedule.results))
        waiting = schedule.left
        while waiting or pool.jobs:
            while waiting and pool.free_slot is not None:
                start_worker(pool, waiting.pop(0))
            busy = ", ".join(cell.name for cell in pool.jobs)
            advance(0, f"{busy}; {len(waiting)} wait; {_describe_state(schedule)}")
            for ended in pool.wait():
                if (message := read_failure(ended)) is None:
                    _finish(schedule, ended.job, run_cell(ended.job, progress), progress)
                else:
                    failures.append(_record_failure(schedule, ended.job, message, progress))
                advance(1)
    return failures


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
    if outcome.get("error") == StoppedError.__name__:
        raise StoppedError(outcome["message"])
    message: str | None = outcome.get("message")
    return message


def _finish(schedule: Schedule, cell: Cell, result: CellResult, progress: Progress) -> None:
    schedule.add(cell, result)
    score, took = result.metrics["micro_f1"], format_duration(result.seconds)
    progress.note(f"{cell.name}: micro-F1 {score:.4f} on {cell.split}, trained in {took}")


def _record_failure(schedule: Schedule, cell: Cell, sentence: str, progress: Progress) -> CellFailure:
    schedule.give_up(cell)
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
