"""What the verbs share: consoles, progress bars, and errors as sentences."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from seq2set.progress import Advance


class RichProgress:
    """Draws a bar a stage on standard error, so that standard output stays clean for results."""

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        """Draw a bar for as long as the block runs."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns: list[ProgressColumn] = [TextColumn("{task.description}")]
        if total is None:
            columns += [TextColumn("{task.completed:,.0f}"), TimeElapsedColumn()]
        else:
            columns += [BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
            columns += [TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[status]}")]
        with Progress(*columns, console=Console(stderr=True)) as bars:
            task = bars.add_task(title, total=total, status="")

            def advance(done: int, status: str = "", /) -> None:
                bars.advance(task, done)
                if status:
                    bars.update(task, status=status)

            yield advance

    def note(self, sentence: str) -> None:
        """Print a sentence on standard error."""
        sys.stderr.write(sentence + "\n")


def say_error(message: str) -> None:
    """Print an error on standard error, one sentence a line."""
    for line in message.splitlines():
        sys.stderr.write(f"seq2set: {line}\n")
