"""A process that does one cell: the cell comes as a line of JSON, and how it went goes back as another."""

from __future__ import annotations

import json
import os
import sys

from seq2set.errors import Seq2SetError
from seq2set.experiments.cells import Cell, run_cell
from seq2set.progress import Silent
from seq2set.workers import stopping_with


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
    with stopping_with(sys.stdin.fileno()):
        said = work(line)
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
