"""Ctrl-C and a polite kill end every command alike: what it started ends too, and one sentence says so."""

from __future__ import annotations

import signal
import threading
from typing import Any

from typer.core import TyperGroup

from seq2set.errors import StoppedError
from seq2set.workers import end_pool


class StoppableCommands(TyperGroup):
    """The command line's verbs, which both signals interrupt."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        here = threading.current_thread() is threading.main_thread()  # only there may signals be handled
        # By itself SIGTERM ends a process on the spot, and leaves the processes that fit classifiers behind.
        before = signal.signal(signal.SIGTERM, signal.default_int_handler) if here else None
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            end_pool()
            message = "stopped; nothing is lost that was saved, and a training goes on with --resume"
            raise StoppedError(message) from error
        finally:
            if here:
                signal.signal(signal.SIGTERM, before)
